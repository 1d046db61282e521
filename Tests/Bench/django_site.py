# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""The peer of the session check: `users/me` of a Django site with database sessions, in one file.

Only what the check needs is switched on: the session and authentication middleware, one view, a connection that stays
open, no access log. The settings of SQLite are those of our server. Environment: BENCH_DJANGO_DATA (a folder).
"""
import os
import pathlib

import django
from django.conf import settings

DATA = pathlib.Path(os.environ["BENCH_DJANGO_DATA"])

if not settings.configured:
    settings.configure(
        SECRET_KEY="only-for-figures-on-this-machine",
        DEBUG=False,
        ALLOWED_HOSTS=["localhost", "127.0.0.1"],
        ROOT_URLCONF=__name__,
        INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions"],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        SESSION_ENGINE="django.contrib.sessions.backends.db",
        SESSION_COOKIE_AGE=30 * 24 * 3600,
        PASSWORD_HASHERS=["django.contrib.auth.hashers.PBKDF2PasswordHasher"],
        DATABASES={"default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": DATA / "django.sqlite",
            "CONN_MAX_AGE": None,
            "OPTIONS": {"init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL"},
        }},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        USE_TZ=True,
        LOGGING_CONFIG=None,
    )
    django.setup()

from django.contrib.auth import authenticate, login  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import JsonResponse  # noqa: E402
from django.urls import path  # noqa: E402


def me(request):
    user = request.user
    if not user.is_authenticated:
        return JsonResponse({"error": "session.absent"}, status=401)
    return JsonResponse({"id": f"{user.pk:032x}", "email": user.email, "full_name": user.get_full_name(), "language": "en"})


def sign_in(request):
    user = authenticate(request, username=request.POST["username"], password=request.POST["password"])
    if user is None:
        return JsonResponse({"error": "refused"}, status=403)
    login(request, user)
    return JsonResponse({"ok": True})


urlpatterns = [path("api/v1.0/users/me/", me), path("sign-in/", sign_in)]
application = get_wsgi_application()

if __name__ == "__main__":
    from django.contrib.auth.models import User
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    if not User.objects.exists():
        User.objects.create_user("alice", "alice@example.org", "alice-password-1", first_name="Alice", last_name="Example")
