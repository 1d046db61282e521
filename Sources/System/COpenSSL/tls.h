// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_COpenSSL_TLS_H
#define NACRE_COpenSSL_TLS_H

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

// OpenSSL's own socket BIO uses write(), which ends the process with SIGPIPE when the peer has left; this one does not.

static int nacre_bio_write(BIO *bio, const char *from, int count) {
    BIO_clear_retry_flags(bio);
    ssize_t sent = send((int)(intptr_t)BIO_get_data(bio), from, (size_t)count, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) BIO_set_retry_write(bio);
    return (int)sent;
}

static int nacre_bio_read(BIO *bio, char *into, int count) {
    BIO_clear_retry_flags(bio);
    ssize_t got = recv((int)(intptr_t)BIO_get_data(bio), into, (size_t)count, 0);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) BIO_set_retry_read(bio);
    return (int)got;
}

static long nacre_bio_control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static inline BIO_METHOD *nacre_bio_method(void) {
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "nacre socket");
    if (!method) return 0;
    BIO_meth_set_write(method, nacre_bio_write);
    BIO_meth_set_read(method, nacre_bio_read);
    BIO_meth_set_ctrl(method, nacre_bio_control);
    return method;
}

// A server's session over a descriptor it does not own; 0 when memory ran out.
static inline SSL *nacre_ssl_accepting(SSL_CTX *context, BIO_METHOD *method, int fd) {
    SSL *ssl = SSL_new(context);
    BIO *bio = ssl ? BIO_new(method) : 0;
    if (!bio) {
        SSL_free(ssl);
        return 0;
    }
    BIO_set_data(bio, (void *)(intptr_t)fd);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_accept_state(ssl);
    return ssl;
}

// A client's context that demands a certificate under the authorities of a PEM file, or of the system; 0 when the file
// cannot be used.
static inline SSL_CTX *nacre_ssl_verifying_context(const char *authorities) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context) return 0;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, 0);
    int loaded = authorities ? SSL_CTX_load_verify_file(context, authorities) : SSL_CTX_set_default_verify_paths(context);
    if (loaded == 1) return context;
    SSL_CTX_free(context);
    return 0;
}

// A client's session over a descriptor it does not own. The certificate must be this host's (a name or an address).
static inline SSL *nacre_ssl_connecting(SSL_CTX *context, BIO_METHOD *method, int fd, const char *host, int is_address) {
    SSL *ssl = SSL_new(context);
    BIO *bio = ssl ? BIO_new(method) : 0;
    int named = 0;
    if (bio && is_address) named = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
    if (bio && !is_address) named = SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
    if (named != 1) {
        BIO_free(bio);
        SSL_free(ssl);
        return 0;
    }
    BIO_set_data(bio, (void *)(intptr_t)fd);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    static const unsigned char alpn[] = "\x08http/1.1";
    SSL_set_alpn_protos(ssl, alpn, sizeof alpn - 1);
    SSL_set_connect_state(ssl);
    return ssl;
}

// RFC 7301: HTTP/1.1 if it is offered, else the alert that nothing fits.
static int nacre_alpn_select(SSL *ssl, const unsigned char **out, unsigned char *length, const unsigned char *offered,
                             unsigned int count, void *context) {
    (void)ssl, (void)context;
    for (unsigned int at = 0; at < count; at += 1u + offered[at]) {
        if (offered[at] == 8 && at + 9 <= count && memcmp(offered + at + 1, "http/1.1", 8) == 0) {
            *out = offered + at + 1;
            *length = 8;
            return SSL_TLSEXT_ERR_OK;
        }
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

// A pass phrase is never asked for: a server that starts unattended must not wait at a terminal.
static int nacre_no_passphrase(char *into, int size, int writing, void *context) {
    (void)into, (void)size, (void)writing, (void)context;
    return 0;
}

static inline SSL_CTX *nacre_ssl_server_context(void) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context) return 0;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_alpn_select_cb(context, nacre_alpn_select, 0);
    static const unsigned char id[] = "nacre";
    SSL_CTX_set_session_id_context(context, id, 5);
    return context;
}

// Reads a leaf certificate and its chain, then the key. 0 good, 1 certificate, 2 chain, 3 key, 4 key of another certificate.
static inline int nacre_ssl_use_identity(SSL_CTX *context, const char *certificates, int certificates_length,
                                         const char *key, int key_length) {
    int result = 0;
    BIO *chain = BIO_new_mem_buf(certificates, certificates_length);
    X509 *leaf = PEM_read_bio_X509(chain, 0, nacre_no_passphrase, 0);
    if (!leaf || SSL_CTX_use_certificate(context, leaf) != 1) result = 1;
    X509_free(leaf);
    X509 *next = 0;
    while (result == 0 && (next = PEM_read_bio_X509(chain, 0, nacre_no_passphrase, 0))) {
        if (SSL_CTX_add1_chain_cert(context, next) != 1) result = 2;
        X509_free(next);
    }
    BIO_free(chain);
    ERR_clear_error();
    if (result != 0) return result;
    BIO *secret = BIO_new_mem_buf(key, key_length);
    EVP_PKEY *pair = PEM_read_bio_PrivateKey(secret, 0, nacre_no_passphrase, 0);
    BIO_free(secret);
    if (!pair) return 3;
    if (SSL_CTX_use_PrivateKey(context, pair) != 1 || SSL_CTX_check_private_key(context) != 1) result = 4;
    EVP_PKEY_free(pair);
    ERR_clear_error();
    return result;
}

static inline int nacre_ssl_is_unexpected_end(unsigned long code) {
    return ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
}

#endif
