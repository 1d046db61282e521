"""Starts Label Studio as its own command does, with the gateway's verified identities in place of its sign-in form.

`nacre_identity` is the snippet of docs/server.md. Accounts are made by an administrator, as before; an identity without an account is
nobody."""
import os


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


if __name__ == "__main__":
    from label_studio import server
    # Its settings look at themselves while they are read, so they are completed rather than replaced.
    server._setup_env()
    from django.conf import settings
    place = settings.MIDDLEWARE.index("django.contrib.auth.middleware.AuthenticationMiddleware") + 1
    settings.MIDDLEWARE[place:place] = ["nacre_identity.NacreIdentityMiddleware", "label_studio_site.AccountMiddleware"]
    # The gateway's own is called `sessionid`, and an upstream's of that name would not pass.
    settings.SESSION_COOKIE_NAME = "label_studio"
    settings.CSRF_TRUSTED_ORIGINS = [os.environ["NACRE_GATEWAY"], os.environ["LABEL_STUDIO_HOST"]]
    server.main()
