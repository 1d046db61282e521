"""Label Studio's own settings, with the gateway's verified identities in place of its sign-in form.

`nacre_identity` is the snippet of docs/server.md. Accounts are made by an administrator, as before; an identity without an account is
nobody."""
import os

from label_studio.core.settings.label_studio import *  # noqa: F401,F403
from label_studio.core.settings.label_studio import MIDDLEWARE

place = MIDDLEWARE.index("django.contrib.auth.middleware.AuthenticationMiddleware") + 1
MIDDLEWARE = MIDDLEWARE[:place] + ["nacre_identity.NacreIdentityMiddleware",
                                   "label_studio_settings.AccountMiddleware"] + MIDDLEWARE[place:]
# Ours is called `sessionid` at the gateway, and an upstream's of that name would not pass.
SESSION_COOKIE_NAME = "label_studio"
CSRF_TRUSTED_ORIGINS = [os.environ["NACRE_GATEWAY"], os.environ["LABEL_STUDIO_HOST"]]


class AccountMiddleware:
    """The account of the verified address."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        if request.nacre:
            from users.models import User
            account = User.objects.filter(email__iexact=request.nacre["email"]).first()
            if account:
                request.user = account
        return self.get_response(request)
