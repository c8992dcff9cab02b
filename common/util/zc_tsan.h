/* zc_tsan.h - marks reads that race with a writer on purpose.
 *
 * A page may be written to while the store copies it: the copy may be torn, but the bytes are dirty
 * again when the writer ends and are written again.  The thread sanitizer ignores exactly these
 * copies.  The functions are the sanitizer's.
 */
#ifndef ZC_TSAN_H
#define ZC_TSAN_H

#if defined(__SANITIZE_THREAD__)
#define ZC_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ZC_TSAN 1
#endif
#endif

#ifdef ZC_TSAN
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
#define ZC_TSAN_RACY_BEGIN() AnnotateIgnoreReadsBegin(__FILE__, __LINE__)
#define ZC_TSAN_RACY_END()   AnnotateIgnoreReadsEnd(__FILE__, __LINE__)
#else
#define ZC_TSAN_RACY_BEGIN() ((void)0)
#define ZC_TSAN_RACY_END()   ((void)0)
#endif

#endif
