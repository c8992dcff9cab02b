/* zc_racy.h - marks reads that may race with a writer on purpose.
 *
 * A page may be written to while the store copies it: the copy may be torn, but the
 * bytes are dirty again when the writer ends and are written again.  Thread sanitizer
 * is told so at the very copies, nowhere else.  The functions are the sanitizer's.
 */
#ifndef ZC_RACY_H
#define ZC_RACY_H

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
#define ZC_RACY_READ_BEGIN() AnnotateIgnoreReadsBegin(__FILE__, __LINE__)
#define ZC_RACY_READ_END()   AnnotateIgnoreReadsEnd(__FILE__, __LINE__)
#else
#define ZC_RACY_READ_BEGIN() ((void)0)
#define ZC_RACY_READ_END()   ((void)0)
#endif

#endif
