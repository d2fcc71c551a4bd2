/* fetch.c: libcurl. */
#include "client/link/fetch.h"

#include "shared/base/version.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

struct Fetch {
    CURLM *multi;
    CURL *easy;
    char *text; /* [bytes + 1] */
    size_t bytes, bytes_max;
    bool too_long;
    char why[CURL_ERROR_SIZE];
};

static size_t on_data(char *data, size_t one, size_t count, void *context)
{
    Fetch *fetch = context;
    size_t bytes = one * count;
    fetch->too_long = fetch->too_long || bytes > fetch->bytes_max - fetch->bytes;
    char *text = fetch->too_long ? NULL : realloc(fetch->text, fetch->bytes + bytes + 1);
    if (text == NULL) {
        return 0; /* ends it */
    }
    memcpy(text + fetch->bytes, data, bytes);
    fetch->text = text;
    fetch->bytes += bytes;
    text[fetch->bytes] = '\0';
    return bytes;
}

static bool options_set(Fetch *fetch, const char *url)
{
    CURL *easy = fetch->easy;
    return curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_MAXREDIRS, 3L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)FETCH_MS_MAX) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_USERAGENT, "plenum-client/" PLENUM_VERSION) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, fetch->why) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetch) == CURLE_OK;
}

Fetch *fetch_create(const char *url, size_t bytes_max, ErrorText *error)
{
    Fetch *fetch = calloc(1, sizeof *fetch);
    if (fetch != NULL && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) {
        fetch->bytes_max = bytes_max;
        fetch->easy = curl_easy_init();
        fetch->multi = curl_multi_init();
        if (fetch->easy != NULL && fetch->multi != NULL && options_set(fetch, url) &&
            curl_multi_add_handle(fetch->multi, fetch->easy) == CURLM_OK) {
            return fetch;
        }
    }
    error_set(error, ERROR_NETWORK, "%s: cannot ask there", url);
    fetch_destroy(fetch);
    return NULL;
}

int fetch_poll(Fetch *fetch, ErrorText *error)
{
    int running = 0, left = 0;
    CURLMcode code = curl_multi_perform(fetch->multi, &running);
    if (code != CURLM_OK) {
        return error_set(error, ERROR_NETWORK, "%s", curl_multi_strerror(code));
    }
    const CURLMsg *message = curl_multi_info_read(fetch->multi, &left);
    if (message == NULL) {
        return 0;
    }
    if (message->data.result == CURLE_OK) {
        return 1;
    }
    return fetch->too_long
               ? error_set(error, ERROR_LIMIT, "the page is longer than %zu bytes",
                           fetch->bytes_max)
               : error_set(error, ERROR_NETWORK, "%s",
                           fetch->why[0] != '\0' ? fetch->why
                                                 : curl_easy_strerror(message->data.result));
}

const char *fetch_text(const Fetch *fetch, size_t *bytes)
{
    *bytes = fetch->bytes;
    return fetch->text != NULL ? fetch->text : "";
}

void fetch_destroy(Fetch *fetch)
{
    if (fetch == NULL) {
        return;
    }
    if (fetch->multi != NULL && fetch->easy != NULL) {
        curl_multi_remove_handle(fetch->multi, fetch->easy);
    }
    curl_easy_cleanup(fetch->easy);
    curl_multi_cleanup(fetch->multi);
    free(fetch->text);
    free(fetch);
}
