// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

/* The peer of the figures: the least program around a WebKitGTK web view that shows the same page.
 *
 * usage: bare_window URL DATA_FOLDER CERTIFICATE.pem HOST
 *
 * It has what any app of this kind has: a window, a persistent network session, stored cookies, one script-message
 * handler with a reply ("echo", in the page's own world). The certificate is accepted for the host as our shell does it,
 * so that neither side touches a trust store. Developer extras are on, as they are with `nacre run`.
 */
#include <glib-unix.h>
#include <gtk/gtk.h>
#include <webkit/webkit.h>

static GMainLoop *loop;

static gboolean stop(gpointer unused)
{
    (void)unused;
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

static gboolean closed(GtkWindow *window, gpointer unused)
{
    (void)window;
    return stop(unused);
}

/* The raw form of a bridge: what the page sent goes back. */
static gboolean echo(WebKitUserContentManager *content, JSCValue *value, WebKitScriptMessageReply *reply, gpointer unused)
{
    (void)content;
    (void)unused;
    char *text = jsc_value_to_string(value);
    JSCValue *answer = jsc_value_new_string(jsc_value_get_context(value), text);
    webkit_script_message_reply_return_value(reply, answer);
    g_object_unref(answer);
    g_free(text);
    return TRUE;
}

static void load_changed(WebKitWebView *view, WebKitLoadEvent event, gpointer unused)
{
    (void)unused;
    if (event == WEBKIT_LOAD_FINISHED)
        g_print("finished %s\n", webkit_web_view_get_uri(view));
}

static gboolean load_failed(WebKitWebView *view, WebKitLoadEvent event, const char *uri, GError *error, gpointer unused)
{
    (void)view;
    (void)event;
    (void)unused;
    g_printerr("failed %s: %s\n", uri, error->message);
    return FALSE;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        g_printerr("usage: bare_window URL DATA_FOLDER CERTIFICATE.pem HOST\n");
        return 2;
    }
    GError *error = NULL;
    GTlsCertificate *certificate = g_tls_certificate_new_from_file(argv[3], &error);
    if (!certificate) {
        g_printerr("%s: %s\n", argv[3], error->message);
        return 1;
    }
    gtk_init();
    loop = g_main_loop_new(NULL, FALSE);

    char *data = g_build_filename(argv[2], "data", NULL);
    char *cache = g_build_filename(argv[2], "cache", NULL);
    char *jar = g_build_filename(data, "cookies.sqlite", NULL);
    g_mkdir_with_parents(data, 0700);
    g_mkdir_with_parents(cache, 0700);
    WebKitNetworkSession *session = webkit_network_session_new(data, cache);
    webkit_network_session_allow_tls_certificate_for_host(session, certificate, argv[4]);
    webkit_network_session_set_persistent_credential_storage_enabled(session, FALSE);
    webkit_cookie_manager_set_persistent_storage(
        webkit_network_session_get_cookie_manager(session), jar, WEBKIT_COOKIE_PERSISTENT_STORAGE_SQLITE);

    WebKitUserContentManager *content = webkit_user_content_manager_new();
    g_signal_connect(content, "script-message-with-reply-received::echo", G_CALLBACK(echo), NULL);
    webkit_user_content_manager_register_script_message_handler_with_reply(content, "echo", NULL);

    WebKitSettings *settings = webkit_settings_new();
    webkit_settings_set_enable_developer_extras(settings, TRUE);
    WebKitWebView *view = g_object_new(
        WEBKIT_TYPE_WEB_VIEW, "network-session", session, "user-content-manager", content, "settings", settings, NULL);
    g_signal_connect(view, "load-changed", G_CALLBACK(load_changed), NULL);
    g_signal_connect(view, "load-failed", G_CALLBACK(load_failed), NULL);
    webkit_web_view_load_uri(view, argv[1]);

    GtkWidget *window = gtk_window_new();
    gtk_window_set_default_size(GTK_WINDOW(window), 1100, 760);
    gtk_window_set_child(GTK_WINDOW(window), GTK_WIDGET(view));
    g_signal_connect(window, "close-request", G_CALLBACK(closed), NULL);
    gtk_window_present(GTK_WINDOW(window));

    g_unix_signal_add(SIGTERM, stop, NULL);
    g_unix_signal_add(SIGINT, stop, NULL);
    g_main_loop_run(loop);
    gtk_window_destroy(GTK_WINDOW(window));
    return 0;
}
