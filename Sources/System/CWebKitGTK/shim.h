// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// GTK 4 and WebKitGTK 6.0, and the few things of theirs that Swift cannot call: variable arguments and type macros.
#ifndef NACRE_CWEBKITGTK_SHIM_H
#define NACRE_CWEBKITGTK_SHIM_H

#include <gtk/gtk.h>
#include <webkit/webkit.h>

/// A web view over exactly these parts; each can be given at construction only.
static inline WebKitWebView *nacre_web_view_new(
    WebKitWebContext *context, WebKitNetworkSession *session, WebKitUserContentManager *content,
    WebKitSettings *settings) {
    return WEBKIT_WEB_VIEW(g_object_new(
        WEBKIT_TYPE_WEB_VIEW, "web-context", context, "network-session", session, "user-content-manager", content,
        "settings", settings, NULL));
}

/// Sets a boolean property of any object.
static inline void nacre_object_set_flag(gpointer object, const char *property, gboolean value) {
    g_object_set(object, property, value, NULL);
}

static inline gboolean nacre_is_user_media_request(gpointer request) {
    return WEBKIT_IS_USER_MEDIA_PERMISSION_REQUEST(request);
}

/// A modal question with two answers, "accept" (GTK_RESPONSE_ACCEPT) and "refuse" (GTK_RESPONSE_REJECT, the default).
static inline GtkWidget *nacre_question_new(
    GtkWindow *parent, const char *title, const char *text, const char *accept, const char *refuse) {
    GtkWidget *dialog = gtk_message_dialog_new(
        parent, GTK_DIALOG_MODAL | GTK_DIALOG_DESTROY_WITH_PARENT, GTK_MESSAGE_QUESTION, GTK_BUTTONS_NONE, "%s", title);
    gtk_message_dialog_format_secondary_text(GTK_MESSAGE_DIALOG(dialog), "%s", text);
    gtk_dialog_add_button(GTK_DIALOG(dialog), refuse, GTK_RESPONSE_REJECT);
    gtk_dialog_add_button(GTK_DIALOG(dialog), accept, GTK_RESPONSE_ACCEPT);
    gtk_dialog_set_default_response(GTK_DIALOG(dialog), GTK_RESPONSE_REJECT);
    return dialog;
}

/// A message with one button to close it.
static inline GtkWidget *nacre_alert_new(GtkWindow *parent, const char *title, const char *text, const char *close) {
    GtkWidget *dialog = gtk_message_dialog_new(
        parent, GTK_DIALOG_MODAL | GTK_DIALOG_DESTROY_WITH_PARENT, GTK_MESSAGE_ERROR, GTK_BUTTONS_NONE, "%s", title);
    gtk_message_dialog_format_secondary_text(GTK_MESSAGE_DIALOG(dialog), "%s", text);
    gtk_dialog_add_button(GTK_DIALOG(dialog), close, GTK_RESPONSE_CLOSE);
    return dialog;
}

/// One argument object `{name: text}` for webkit_web_view_call_async_javascript_function; a floating reference.
static inline GVariant *nacre_script_argument(const char *name, const char *text) {
    GVariantBuilder builder;
    g_variant_builder_init(&builder, G_VARIANT_TYPE_VARDICT);
    g_variant_builder_add(&builder, "{sv}", name, g_variant_new_string(text));
    return g_variant_builder_end(&builder);
}

#endif
