// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/// A self-signed certificate for localhost and its key, made for these tests and good for nothing else.
enum TestIdentity {
    static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBnDCCAUGgAwIBAgIUQwgUfn+PjsnBBouB2ouH3aeMEMowCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEzMDA2MTUwMVoYDzIxMjYxMTA2
        MDYxNTAxWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAAS9iVaMnrZGK6i+LsqhNojauxr2aLlVkh5tC1z9ZYIjKYWE8KA6Nz3c
        mY9hW5HwdQqoDSlrNGNDgxa7mGz2oOTwo28wbTAdBgNVHQ4EFgQUnJpydol5AW3A
        rAnWEYHO1NOm5zgwHwYDVR0jBBgwFoAUnJpydol5AW3ArAnWEYHO1NOm5zgwDwYD
        VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
        zj0EAwIDSQAwRgIhAOZioeb2+OzR2xn18NOW+wiiogUJlwKC93cqOY6UDMT0AiEA
        7SOTKsK4p+B+CMS13O91cYETuadNZmVlGlLf124sxW0=
        -----END CERTIFICATE-----
        """

    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgVaGp5doOxecckT3Q
        lS4p72/SABhkDi0P2QU7EdxdRIOhRANCAAS9iVaMnrZGK6i+LsqhNojauxr2aLlV
        kh5tC1z9ZYIjKYWE8KA6Nz3cmY9hW5HwdQqoDSlrNGNDgxa7mGz2oOTw
        -----END PRIVATE KEY-----
        """
}
