"""A Django application behind the gateway: page, form, WebSocket, events, large bodies. Settings come from UPSTREAM_*.

Its own CSRF check stays on, and it believes only identities that the snippet of docs/server.md has verified."""
import asyncio
import hashlib
import json
import os

import django
from django.conf import settings

env = os.environ
settings.configure(
    SECRET_KEY="for-tests-only-" * 4, DEBUG=False, ALLOWED_HOSTS=["*"], ROOT_URLCONF="upstream_site", USE_TZ=True,
    USE_X_FORWARDED_HOST=True, CSRF_TRUSTED_ORIGINS=[env["NACRE_GATEWAY"]], INSTALLED_APPS=[], DATABASES={},
    MIDDLEWARE=["django.middleware.csrf.CsrfViewMiddleware", "nacre_identity.NacreIdentityMiddleware"],
    FILE_UPLOAD_TEMP_DIR=env["UPSTREAM_FOLDER"], DATA_UPLOAD_MAX_MEMORY_SIZE=None, LOGGING_CONFIG=None,
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}])
django.setup()

from channels.generic.websocket import AsyncWebsocketConsumer  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.core.asgi import get_asgi_application  # noqa: E402
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse, StreamingHttpResponse  # noqa: E402
from django.template import engines  # noqa: E402
from django.urls import path  # noqa: E402
from django.views.decorators.csrf import csrf_exempt  # noqa: E402
from nacre_identity import verify  # noqa: E402

PAGE = engines["django"].from_string(
    "<!doctype html><title>Notes</title><p id=who>{{ email }}</p>"
    "<form method=post action=/api/notes>{% csrf_token %}<input name=text></form>")
PIECE = hashlib.sha256(b"piece").digest() * 8192  # 256 KiB
seen = []


def page(request):
    return HttpResponse(PAGE.render({"email": request.nacre["email"]}, request))


def notes(request):
    return JsonResponse({"text": request.POST.get("text"), "by": request.nacre["email"]})


def fields(request):
    """What came with the request, and who Django takes the sender for."""
    return JsonResponse({"fields": {k: v for k, v in request.META.items() if k.startswith("HTTP_")},
                         "uid": request.nacre and request.nacre["uid"], "cookies": request.COOKIES})


def cookies(request):
    response = JsonResponse({})
    response.set_cookie("theme", "dark")
    response.set_cookie("sessionid", "planted")
    return response


def away(request):
    return HttpResponseRedirect(f"http://127.0.0.1:{env['UPSTREAM_PORT']}/api/page?from=away")


async def events(request):
    async def stream():
        for number in range(int(request.GET.get("count", 1_000_000))):
            yield f"id: {number}\ndata: event {number}\n\n"
            await asyncio.sleep(0.2)
    return StreamingHttpResponse(stream(), content_type="text/event-stream")


async def download(request):
    async def stream():
        left = int(request.GET["bytes"])
        while left:
            piece = PIECE[:left]
            left -= len(piece)
            yield piece
    response = StreamingHttpResponse(stream(), content_type="application/octet-stream")
    response["Content-Length"] = request.GET["bytes"]
    return response


@csrf_exempt
def upload(request):
    digest, size = hashlib.sha256(), 0
    while piece := request.read(1 << 20):
        digest.update(piece)
        size += len(piece)
    return JsonResponse({"sha256": digest.hexdigest(), "bytes": size})


@csrf_exempt
def public(request, name):
    if name == "seen":
        return JsonResponse({"paths": seen})
    seen.append(f"{request.method} {request.path}")
    return JsonResponse({"address": request.headers.get("X-Forwarded-For"), "uid": request.nacre and request.nacre["uid"]})


class Echo(AsyncWebsocketConsumer):
    async def connect(self):
        headers = {name.decode(): value.decode() for name, value in self.scope["headers"]}
        try:
            # It fetches keys when it must: not on the loop.
            person = await asyncio.to_thread(verify, headers["x-nacre-identity"])
        except Exception:
            return await self.close()
        await self.accept()
        await self.send(text_data=json.dumps({"email": person["email"], "cookies": headers.get("cookie", "")}))

    async def receive(self, text_data=None, bytes_data=None):
        await self.send(text_data=text_data, bytes_data=bytes_data)


urlpatterns = [
    path("api/page", page), path("api/notes", notes), path("api/fields", fields), path("api/cookies", cookies),
    path("api/away", away), path("api/events", events), path("api/download", download), path("api/upload", upload),
    path("api/public/<name>", public),
]
application = ProtocolTypeRouter({
    "http": get_asgi_application(), "websocket": URLRouter([path("api/echo", Echo.as_asgi())])})
