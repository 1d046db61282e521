// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_COpenSSL_H
#define NACRE_COpenSSL_H

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/decoder.h>
#include <openssl/ec.h>
#include <openssl/encoder.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/// A public key of these parameters. Here and not in Swift, because OpenSSL keeps the pointers to the names.
static inline EVP_PKEY *nacre_public_key(const char *kind, OSSL_PARAM_BLD *builder) {
  EVP_PKEY *key = NULL;
  OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, kind, NULL);
  if (parameters && context && EVP_PKEY_fromdata_init(context) == 1)
    EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters);
  EVP_PKEY_CTX_free(context);
  OSSL_PARAM_free(parameters);
  return key;
}

/// The P-256 key of an uncompressed point, or NULL.
static inline EVP_PKEY *nacre_p256_public(const unsigned char *point, size_t length) {
  EVP_PKEY *key = NULL;
  OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
  if (builder && OSSL_PARAM_BLD_push_utf8_string(builder, "group", "prime256v1", 0) &&
      OSSL_PARAM_BLD_push_octet_string(builder, "pub", point, length))
    key = nacre_public_key("EC", builder);
  OSSL_PARAM_BLD_free(builder);
  return key;
}

/// The RSA key of big-endian modulus and exponent, or NULL.
static inline EVP_PKEY *nacre_rsa_public(const unsigned char *modulus, int modulus_length,
                                         const unsigned char *exponent, int exponent_length) {
  EVP_PKEY *key = NULL;
  BIGNUM *n = BN_bin2bn(modulus, modulus_length, NULL), *e = BN_bin2bn(exponent, exponent_length, NULL);
  OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
  if (n && e && builder && OSSL_PARAM_BLD_push_BN(builder, "n", n) && OSSL_PARAM_BLD_push_BN(builder, "e", e))
    key = nacre_public_key("RSA", builder);
  OSSL_PARAM_BLD_free(builder);
  BN_free(n);
  BN_free(e);
  return key;
}

/// The RSA key of a PEM text in PKCS #1 form (`BEGIN RSA PUBLIC KEY`), or NULL.
static inline EVP_PKEY *nacre_rsa_public_pkcs1(const unsigned char *pem, size_t length) {
  EVP_PKEY *key = NULL;
  OSSL_DECODER_CTX *decoder =
      OSSL_DECODER_CTX_new_for_pkey(&key, "PEM", "type-specific", "RSA", EVP_PKEY_PUBLIC_KEY, NULL, NULL);
  if (!decoder || OSSL_DECODER_from_data(decoder, &pem, &length) != 1) {
    EVP_PKEY_free(key);
    key = NULL;
  }
  OSSL_DECODER_CTX_free(decoder);
  return key;
}

/// Writes the key in PKCS #1 form (`BEGIN RSA PUBLIC KEY` or `BEGIN RSA PRIVATE KEY`); 1 when it was written.
static inline int nacre_rsa_write_pkcs1(BIO *bio, EVP_PKEY *key, int private) {
  OSSL_ENCODER_CTX *encoder = OSSL_ENCODER_CTX_new_for_pkey(
      key, private ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, "PEM", "type-specific", NULL);
  int written = encoder && OSSL_ENCODER_to_bio(encoder, bio);
  OSSL_ENCODER_CTX_free(encoder);
  return written;
}

/* ---- TLS as a client, over memory queues (the page channel's own connections) ---- */

/// TLS 1.2 and newer; the system's authorities are loaded. Demanding a certificate is left to the caller.
static inline SSL_CTX *nacre_ssl_client_context(void) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context) return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_default_verify_paths(context);
    SSL_CTX_set_mode(context, SSL_MODE_AUTO_RETRY);
    return context;
}

/// Adds authorities in PEM to those trusted; returns how many.
static inline int nacre_ssl_trust_pem(SSL_CTX *context, const unsigned char *pem, int length) {
    BIO *bio = BIO_new_mem_buf(pem, length);
    if (!bio) return 0;
    int count = 0;
    for (X509 *x; (x = PEM_read_bio_X509(bio, NULL, NULL, NULL)); X509_free(x))
        if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), x) == 1) count++;
    ERR_clear_error();
    BIO_free(bio);
    return count;
}

/// Whether the text is an IPv4 or IPv6 address.
static inline int nacre_is_address(const char *host) {
    ASN1_OCTET_STRING *address = a2i_IPADDRESS(host);
    ASN1_OCTET_STRING_free(address);
    ERR_clear_error();
    return address != NULL;
}

/// A session over two memory queues that asks for `host` (SNI, names only). Checking the name is left to the caller.
static inline SSL *nacre_ssl_client_session(SSL_CTX *context, const char *host) {
    SSL *ssl = SSL_new(context);
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    if (!ssl || !in || !out) {
        SSL_free(ssl);
        BIO_free(in);
        BIO_free(out);
        return NULL;
    }
    BIO_set_mem_eof_return(in, -1);
    BIO_set_mem_eof_return(out, -1);
    SSL_set_bio(ssl, in, out);
    SSL_set_connect_state(ssl);
    static const unsigned char alpn[] = "\x08http/1.1";
    SSL_set_alpn_protos(ssl, alpn, sizeof alpn - 1);
    if (!nacre_is_address(host)) SSL_set_tlsext_host_name(ssl, host);
    return ssl;
}

static inline void nacre_ssl_feed(SSL *ssl, const unsigned char *bytes, int count) {
    BIO_write(SSL_get_rbio(ssl), bytes, count);
}
static inline int nacre_ssl_outgoing(SSL *ssl) { return (int)BIO_ctrl_pending(SSL_get_wbio(ssl)); }
static inline int nacre_ssl_drain(SSL *ssl, unsigned char *into, int count) {
    return BIO_read(SSL_get_wbio(ssl), into, count);
}

#endif
