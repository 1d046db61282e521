"""A small Django site with django-oauth-toolkit as an OpenID provider; settings come from PEER_* variables."""
import os
import pathlib
import socketserver
import sys
import wsgiref.simple_server

import django
from django.conf import settings

env = os.environ
folder = pathlib.Path(env["PEER_FOLDER"])
port = int(env["PEER_PORT"])
if __name__ == "__main__":
    # Django names this module as its URL configuration.
    sys.modules["oauth_toolkit_site"] = sys.modules["__main__"]


def private_key():
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption()).decode()


contrib = ["admin", "auth", "contenttypes", "sessions", "messages"]
middleware = ["sessions.middleware.SessionMiddleware", "auth.middleware.AuthenticationMiddleware",
              "messages.middleware.MessageMiddleware"]
processors = ["django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
              "django.contrib.messages.context_processors.messages"]
settings.configure(
    SECRET_KEY="for-tests-only-" * 4, DEBUG=False, ALLOWED_HOSTS=["*"], ROOT_URLCONF="oauth_toolkit_site", USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField", LOGIN_URL="/admin/login/", SESSION_COOKIE_NAME="peer_session",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "peer.sqlite")}},
    INSTALLED_APPS=[f"django.contrib.{name}" for name in contrib] + ["oauth2_provider"],
    MIDDLEWARE=[f"django.contrib.{name}" for name in middleware],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
                "OPTIONS": {"context_processors": processors}}],
    OAUTH2_PROVIDER={
        "OIDC_ENABLED": True, "OIDC_RSA_PRIVATE_KEY": private_key(),
        "OIDC_ISS_ENDPOINT": f"http://127.0.0.1:{port}/o", "PKCE_REQUIRED": True,
        "OIDC_RP_INITIATED_LOGOUT_ENABLED": True, "OIDC_RP_INITIATED_LOGOUT_ALWAYS_PROMPT": False,
        "ROTATE_REFRESH_TOKEN": True, "REFRESH_TOKEN_REUSE_PROTECTION": True,
        "SCOPES": {"openid": "identity", "profile": "profile", "email": "address"},
        "OAUTH2_VALIDATOR_CLASS": "oauth_toolkit_site.Claims",
    })
django.setup()

from django.contrib import admin  # noqa: E402
from django.urls import include, path  # noqa: E402
from oauth2_provider import urls as provider_urls  # noqa: E402
from oauth2_provider.oauth2_validators import OAuth2Validator  # noqa: E402


class Claims(OAuth2Validator):
    oidc_claim_scope = None

    def get_additional_claims(self, request):
        user = request.user
        return {"sub": str(user.pk), "email": user.email, "name": user.get_full_name()}


urlpatterns = [path("admin/", admin.site.urls), path("o/", include(provider_urls, namespace="oauth2_provider"))]


def seed():
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from oauth2_provider.models import Application
    call_command("migrate", verbosity=0)
    User.objects.create_superuser(env["PEER_USER"], "alice@example.test", env["PEER_PASSWORD"], first_name="Alice",
                                  last_name="Martin")
    Application.objects.create(
        client_id=env["PEER_CLIENT"], client_secret=env["PEER_SECRET"], name="Messages", client_type="confidential",
        authorization_grant_type="authorization-code", skip_authorization=True, algorithm="RS256",
        redirect_uris=env["PEER_ORIGIN"] + "/api/v1.0/callback/",
        post_logout_redirect_uris=env["PEER_ORIGIN"] + "/api/v1.0/logout-callback/")


class Threaded(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


if __name__ == "__main__":
    from django.core.wsgi import get_wsgi_application
    seed()
    wsgiref.simple_server.make_server("127.0.0.1", port, get_wsgi_application(), server_class=Threaded).serve_forever()
