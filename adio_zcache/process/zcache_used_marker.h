/* zcache_used_marker.h - tells the launcher that a file was opened through zcache.
 */
#ifndef ZCACHE_USED_MARKER_H
#define ZCACHE_USED_MARKER_H

struct zc_settings;

/* Makes the file that ZCACHE_USED names, when the first file is open; once. */
void zcache_used_marker_write(const struct zc_settings *s);

#endif
