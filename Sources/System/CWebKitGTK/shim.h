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

/// A view of the same session and process as `related`, for a window that its page opens; with scripts of its own: none.
static inline WebKitWebView *nacre_related_view_new(WebKitWebView *related, WebKitUserContentManager *content) {
    return WEBKIT_WEB_VIEW(
        g_object_new(WEBKIT_TYPE_WEB_VIEW, "related-view", related, "user-content-manager", content, NULL));
}

static inline gboolean nacre_is_geolocation_request(gpointer request) {
    return WEBKIT_IS_GEOLOCATION_PERMISSION_REQUEST(request);
}
static inline gboolean nacre_is_notification_request(gpointer request) {
    return WEBKIT_IS_NOTIFICATION_PERMISSION_REQUEST(request);
}
static inline gboolean nacre_is_clipboard_request(gpointer request) {
    return WEBKIT_IS_CLIPBOARD_PERMISSION_REQUEST(request);
}
static inline gboolean nacre_is_pointer_lock_request(gpointer request) {
    return WEBKIT_IS_POINTER_LOCK_PERMISSION_REQUEST(request);
}
static inline gboolean nacre_is_device_info_request(gpointer request) {
    return WEBKIT_IS_DEVICE_INFO_PERMISSION_REQUEST(request);
}

/// The desktop's own save dialog (a portal's in a sandbox), with a name proposed, in the folder for downloads.
static inline GtkNativeDialog *nacre_save_dialog_new(
    GtkWindow *parent, const char *title, const char *name, const char *accept, const char *cancel) {
    GtkFileChooserNative *native =
        gtk_file_chooser_native_new(title, parent, GTK_FILE_CHOOSER_ACTION_SAVE, accept, cancel);
    gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(native), TRUE);
    gtk_file_chooser_set_current_name(GTK_FILE_CHOOSER(native), name);
    const char *downloads = g_get_user_special_dir(G_USER_DIRECTORY_DOWNLOAD);
    GFile *folder = g_file_new_for_path(downloads ? downloads : g_get_home_dir());
    gtk_file_chooser_set_current_folder(GTK_FILE_CHOOSER(native), folder, NULL);
    g_object_unref(folder);
    return GTK_NATIVE_DIALOG(native);
}

/// The desktop's own dialog to open files; NULL stands for a window that is not on the screen.
static inline GtkNativeDialog *nacre_open_dialog_new(
    GtkWidget *widget, const char *title, gboolean multiple, const char *accept, const char *cancel) {
    GtkRoot *root = gtk_widget_get_root(widget);
    GtkFileChooserNative *native = gtk_file_chooser_native_new(
        title, GTK_IS_WINDOW(root) ? GTK_WINDOW(root) : NULL, GTK_FILE_CHOOSER_ACTION_OPEN, accept, cancel);
    gtk_native_dialog_set_modal(GTK_NATIVE_DIALOG(native), TRUE);
    gtk_file_chooser_set_select_multiple(GTK_FILE_CHOOSER(native), multiple);
    return GTK_NATIVE_DIALOG(native);
}

/// One kind of file to choose from: by media types, or, with NULL, every file.
static inline void nacre_add_filter(GtkNativeDialog *dialog, const char *name, const char *const *types) {
    GtkFileFilter *filter = gtk_file_filter_new();
    gtk_file_filter_set_name(filter, name);
    if (types == NULL) gtk_file_filter_add_pattern(filter, "*");
    for (; types != NULL && *types != NULL; types++) gtk_file_filter_add_mime_type(filter, *types);
    gtk_file_chooser_add_filter(GTK_FILE_CHOOSER(dialog), filter);
    g_object_unref(filter);
}

/// The files that were chosen: a list model of GFile, a new reference.
static inline GListModel *nacre_chosen_files(GtkNativeDialog *dialog) {
    return gtk_file_chooser_get_files(GTK_FILE_CHOOSER(dialog));
}

/// The file that was chosen, a new reference, or NULL.
static inline GFile *nacre_chosen_file(GtkNativeDialog *dialog) {
    return gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
}

/// Takes lists of files that are dragged in.
static inline GtkEventController *nacre_file_drop_target_new(void) {
    return GTK_EVENT_CONTROLLER(gtk_drop_target_new(GDK_TYPE_FILE_LIST, GDK_ACTION_COPY));
}

/// Lets the widget's other drop targets hear of drags, or not.
static inline void nacre_let_other_drops(GtkWidget *widget, gboolean heard) {
    GListModel *controllers = gtk_widget_observe_controllers(widget);
    for (guint i = 0; i < g_list_model_get_n_items(controllers); i++) {
        GtkEventController *controller = g_list_model_get_item(controllers, i);
        if (GTK_IS_DROP_TARGET_ASYNC(controller))
            gtk_event_controller_set_propagation_phase(controller, heard ? GTK_PHASE_BUBBLE : GTK_PHASE_NONE);
        g_object_unref(controller);
    }
    g_object_unref(controllers);
}

/// Whether the drag was begun in this process.
static inline gboolean nacre_drop_is_local(gpointer drop) { return gdk_drop_get_drag(GDK_DROP(drop)) != NULL; }

/// Whether what is dragged are files, as a file manager offers them, and not a link out of a browser.
static inline gboolean nacre_drop_has_files(gpointer drop) {
    GdkContentFormats *formats = gdk_drop_get_formats(GDK_DROP(drop));
    const char *links[] = {"text/x-moz-url", "_NETSCAPE_URL", "text/html"};
    for (gsize i = 0; i < G_N_ELEMENTS(links); i++)
        if (gdk_content_formats_contain_mime_type(formats, links[i])) return FALSE;
    return gdk_content_formats_contain_gtype(formats, GDK_TYPE_FILE_LIST) ||
           gdk_content_formats_contain_mime_type(formats, "text/uri-list") ||
           gdk_content_formats_contain_mime_type(formats, "application/vnd.portal.filetransfer");
}

/// The files of a drop's value; the list is the caller's, the files are not.
static inline GSList *nacre_dropped_files(gconstpointer value) {
    const GValue *list = (const GValue *)value;
    return G_VALUE_HOLDS(list, GDK_TYPE_FILE_LIST) ? gdk_file_list_get_files(g_value_get_boxed(list)) : NULL;
}

/// Prints to a PDF file without asking, for tests of what is printed.
static inline void nacre_print_to_file(WebKitPrintOperation *operation, const char *uri) {
    GtkPrintSettings *settings = gtk_print_settings_new();
    gtk_print_settings_set_printer(settings, "Print to File");
    gtk_print_settings_set(settings, GTK_PRINT_SETTINGS_OUTPUT_FILE_FORMAT, "pdf");
    gtk_print_settings_set(settings, GTK_PRINT_SETTINGS_OUTPUT_URI, uri);
    webkit_print_operation_set_print_settings(operation, settings);
    g_object_unref(settings);
    webkit_print_operation_print(operation);
}

#endif
