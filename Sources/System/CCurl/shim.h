// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_CCurl_H
#define NACRE_CCurl_H

#include <curl/curl.h>
#include <pthread.h>

/// curl_easy_setopt, curl_easy_getinfo and curl_multi_setopt are variadic: one typed door per kind of argument.
static inline CURLcode nacre_curl_set_long(CURL *h, CURLoption o, long v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode nacre_curl_set_large(CURL *h, CURLoption o, curl_off_t v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode nacre_curl_set_text(CURL *h, CURLoption o, const char *v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode nacre_curl_set_pointer(CURL *h, CURLoption o, void *v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode nacre_curl_set_list(CURL *h, CURLoption o, struct curl_slist *v) {
    return curl_easy_setopt(h, o, v);
}
typedef size_t (*nacre_curl_data)(char *, size_t, size_t, void *);
static inline CURLcode nacre_curl_set_data(CURL *h, CURLoption o, nacre_curl_data v) {
    return curl_easy_setopt(h, o, v);
}
static inline CURLcode nacre_curl_get_long(CURL *h, CURLINFO i, long *v) { return curl_easy_getinfo(h, i, v); }
static inline CURLcode nacre_curl_get_text(CURL *h, CURLINFO i, char **v) { return curl_easy_getinfo(h, i, v); }
static inline CURLcode nacre_curl_get_pointer(CURL *h, CURLINFO i, void **v) { return curl_easy_getinfo(h, i, v); }
static inline CURLMcode nacre_curl_multi_set_long(CURLM *m, CURLMoption o, long v) {
    return curl_multi_setopt(m, o, v);
}
/// CURLMsg.data is a union.
static inline CURLcode nacre_curl_message_result(CURLMsg *m) { return m->data.result; }

#endif
