/* iod_listen.c - the address that the daemon listens at.
 *
 *     loopback     127.0.0.1; where the provider has nothing but this host anyway, its own
 *     fabric       the first address the provider offers
 *     ib0          an interface of this host: its first IPv4 address
 *     192.0.2.1    an address of this host, or a name of one
 *
 * Other names are resolved here, so that the message tells a wrong name from an address that the
 * provider does not support.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "iod_listen.h"
#include "zc_fd.h"
#include "zc_log.h"

/* Lists the interfaces with an IPv4 address: "lo, eth0". */
static const char *interfaces(struct ifaddrs *list, char *buf, size_t len)
{
    size_t at = 0;

    *buf = '\0';
    for (struct ifaddrs *i = list; i && at < len; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET)
            at += (size_t)snprintf(buf + at, len - at, "%s%s", at ? ", " : "", i->ifa_name);
    return buf;
}

static bool address_of(const struct ifaddrs *list, const char *name, char *buf)
{
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        const struct sockaddr_in *in = (const void *)i->ifa_addr;

        if (in && in->sin_family == AF_INET && !strcmp(i->ifa_name, name))
            return inet_ntop(AF_INET, &in->sin_addr, buf, IOD_LISTEN_MAX);
    }
    return false;
}

static int no_such(const char *listen, struct ifaddrs *list, const char *what)
{
    char names[200];

    return zc_errorf(EINVAL,
                     "--listen: \"%.80s\" %s; give loopback, fabric, an address of this host, or "
                     "an interface (here: %s)",
                     listen, what, interfaces(list, names, sizeof names));
}

/* Whether it is a wildcard, broadcast or multicast address. */
static bool is_many(const struct addrinfo *ai)
{
    uint32_t ip = ntohl(((const struct sockaddr_in *)(const void *)ai->ai_addr)->sin_addr.s_addr);

    return ip == INADDR_ANY || ip == INADDR_BROADCAST || IN_MULTICAST(ip);
}

/* Checks that the address is one of this host. */
static int check_own(const char *listen, const struct addrinfo *ai)
{
    int fd = zc_fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)), err = 0;

    if (fd < 0)
        return 0; /* the provider will report it */
    if (bind(fd, ai->ai_addr, ai->ai_addrlen) < 0)
        err = errno;
    close(fd);
    if (err != EADDRNOTAVAIL)
        return 0;
    return zc_errorf(EADDRNOTAVAIL,
                     "--listen: %.80s is no address of this host: name one, or an interface",
                     listen);
}

static int look_up(const char *listen, struct ifaddrs *list)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *ai;
    int rc = getaddrinfo(listen, NULL, &hints, &ai);

    if (rc)
        return no_such(listen, list, "is neither an interface nor an IPv4 address or host name");
    rc = is_many(ai) ? no_such(listen, list, "is not one address") : check_own(listen, ai);
    freeaddrinfo(ai);
    return rc;
}

int iod_listen_at(const char *listen, const char *provider, char *buf, const char **address)
{
    struct ifaddrs *list = NULL;
    int rc = 0;

    *address = NULL;
    if (!strcmp(listen, "fabric"))
        return 0;
    if (!strcmp(listen, "loopback")) {
        *address = strstr(provider, "shm") ? NULL : "127.0.0.1";
        return 0;
    }
    if (getifaddrs(&list) < 0)
        list = NULL;
    if (if_nametoindex(listen)) {
        if (address_of(list, listen, buf))
            *address = buf;
        else
            rc = no_such(listen, list, "is an interface without an IPv4 address");
    } else {
        rc = look_up(listen, list);
        if (rc == 0)
            *address = listen;
    }
    if (list)
        freeifaddrs(list);
    return rc;
}

const char *iod_listen_text(const void *address, size_t len, char *buf, size_t size)
{
    char ip[INET_ADDRSTRLEN];
    struct sockaddr_in in;

    if (len == sizeof in) {
        memcpy(&in, address, sizeof in);
        if (in.sin_family == AF_INET && inet_ntop(AF_INET, &in.sin_addr, ip, sizeof ip)) {
            snprintf(buf, size, "%s:%u", ip, ntohs(in.sin_port));
            return buf;
        }
    }
    snprintf(buf, size, "an address of %zu bytes", len);
    return buf;
}
