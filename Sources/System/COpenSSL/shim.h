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

/// EVP_PKEY_PUBLIC_KEY is a composed macro, which Swift does not import.
static inline int nacre_pkey_public(void) { return EVP_PKEY_PUBLIC_KEY; }
static inline int nacre_pkey_keypair(void) { return EVP_PKEY_KEYPAIR; }

#endif
