// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

import NacreDatabase

/// The provider's tables. Secrets of others (codes, tokens, cookies) stand here only as SHA-256 in hexadecimal.
enum ProviderSchema {
    static let component = "provider"

    static let migrations = [
        Migration(
            1,
            """
            CREATE TABLE provider_setting (name TEXT NOT NULL PRIMARY KEY, value BYTEA NOT NULL);
            CREATE TABLE provider_account (
                id {id}, subject TEXT NOT NULL UNIQUE, username TEXT NOT NULL UNIQUE, email TEXT NOT NULL UNIQUE,
                name TEXT NOT NULL, given_name TEXT NOT NULL, family_name TEXT NOT NULL, locale TEXT NOT NULL,
                password_hash TEXT NOT NULL, is_development BIGINT NOT NULL, created_at BIGINT NOT NULL);
            CREATE TABLE provider_key (
                id {id}, kid TEXT NOT NULL UNIQUE, algorithm TEXT NOT NULL, sealed_key BYTEA NOT NULL,
                created_at BIGINT NOT NULL);
            CREATE TABLE provider_session (
                id {id}, token_hash TEXT NOT NULL UNIQUE, sid TEXT NOT NULL UNIQUE, subject TEXT NOT NULL,
                level TEXT NOT NULL, methods TEXT NOT NULL, authenticated_at BIGINT NOT NULL,
                expires_at BIGINT NOT NULL);
            CREATE TABLE provider_grant (
                id {id}, name TEXT NOT NULL UNIQUE, client_id TEXT NOT NULL, subject TEXT NOT NULL, sid TEXT NOT NULL,
                scope TEXT NOT NULL, nonce TEXT, level TEXT NOT NULL, methods TEXT NOT NULL,
                authenticated_at BIGINT NOT NULL, created_at BIGINT NOT NULL, revoked_at BIGINT);
            CREATE INDEX provider_grant_sid ON provider_grant (sid);
            CREATE TABLE provider_code (
                id {id}, code_hash TEXT NOT NULL UNIQUE, grant_name TEXT NOT NULL, redirect_uri TEXT NOT NULL,
                challenge TEXT, expires_at BIGINT NOT NULL, consumed_at BIGINT);
            CREATE TABLE provider_token (
                id {id}, token_hash TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, grant_name TEXT NOT NULL,
                expires_at BIGINT NOT NULL, consumed_at BIGINT);
            CREATE INDEX provider_token_grant ON provider_token (grant_name);
            CREATE TABLE provider_device (
                id {id}, device_hash TEXT NOT NULL, subject TEXT NOT NULL, last_seen BIGINT NOT NULL,
                UNIQUE (device_hash, subject));
            CREATE TABLE provider_failure (
                bucket TEXT NOT NULL PRIMARY KEY, count BIGINT NOT NULL, window_ends BIGINT NOT NULL);
            """),
        // Tries are counted by the limits that all parts share.
        Migration(
            2,
            """
            DROP TABLE provider_failure;
            CREATE INDEX provider_device_subject ON provider_device (subject, last_seen);
            """),
        // Keys that are published before they sign and can be withdrawn; clients that must hear of a sign-out.
        Migration(
            3,
            """
            ALTER TABLE provider_key ADD COLUMN signs_from BIGINT;
            ALTER TABLE provider_key ADD COLUMN withdrawn_at BIGINT;
            ALTER TABLE provider_grant ADD COLUMN ended_at BIGINT;
            CREATE TABLE provider_logout (
                id {id}, client_id TEXT NOT NULL, sid TEXT NOT NULL, subject TEXT NOT NULL, attempts BIGINT NOT NULL,
                next_attempt BIGINT NOT NULL, created_at BIGINT NOT NULL, UNIQUE (client_id, sid));
            CREATE INDEX provider_logout_next ON provider_logout (next_attempt);
            """),
        // What the sweep asks for.
        Migration(
            4,
            """
            CREATE INDEX provider_code_expires ON provider_code (expires_at);
            CREATE INDEX provider_token_expires ON provider_token (expires_at);
            CREATE INDEX provider_session_expires ON provider_session (expires_at);
            CREATE INDEX provider_grant_created ON provider_grant (created_at);
            """),
    ]
}
