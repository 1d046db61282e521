// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
#ifndef NACRE_COpenSSL_H
#define NACRE_COpenSSL_H

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
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

#endif
