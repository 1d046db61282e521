// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// GLib and GIO, and the few things of theirs that Swift cannot call: macros, and the libdispatch main queue's file
// descriptor, which is exported for run loops but declared in no public header.
#ifndef NACRE_CGLIB_SHIM_H
#define NACRE_CGLIB_SHIM_H

#include <gio/gdesktopappinfo.h>
#include <gio/gio.h>
#include <gio/gunixfdlist.h>
#include <glib-unix.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

int _dispatch_get_main_queue_handle_4CF(void);
void _dispatch_main_queue_callback_4CF(void *);

/// Runs what libdispatch has queued for the main thread; called by GLib when the queue's eventfd is readable.
static gboolean nacre_drain_main_queue(gint fd, GIOCondition condition, gpointer data) {
    (void)condition;
    (void)data;
    eventfd_t pending;
    eventfd_read(fd, &pending);
    _dispatch_main_queue_callback_4CF(NULL);
    return G_SOURCE_CONTINUE;
}

/// Adds the main queue as a source of GLib's default main context; returns the source's id.
static inline guint nacre_main_queue_source_add(void) {
    return g_unix_fd_add(_dispatch_get_main_queue_handle_4CF(), G_IO_IN, nacre_drain_main_queue, NULL);
}

/// Between fork and exec: whatever ends our session, or our process group, leaves the child alone.
static void nacre_leave_session(gpointer data) {
    (void)data;
    setsid();
}

/// Starts the app that opens `uri`, in a session of its own.
static inline gboolean nacre_launch_detached(GAppInfo *app, const char *uri, GError **error) {
    GList uris = {(gpointer)uri, NULL, NULL};
    if (!G_IS_DESKTOP_APP_INFO(app)) return g_app_info_launch_uris(app, &uris, NULL, error);
    return g_desktop_app_info_launch_uris_as_manager(
        G_DESKTOP_APP_INFO(app), &uris, NULL, G_SPAWN_SEARCH_PATH, nacre_leave_session, NULL, NULL, NULL, error);
}

/// Whatever this process starts from now on has no more rights than it; prctl is variadic.
static inline gboolean nacre_no_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0; }

static inline gboolean nacre_error_is_dbus(const GError *error) { return error && error->domain == G_DBUS_ERROR; }
static inline gboolean nacre_error_is_io(const GError *error, gint code) {
    return g_error_matches(error, G_IO_ERROR, code);
}

/// The arguments of org.freedesktop.portal.OpenURI.OpenURI: no parent window, no options.
static inline GVariant *nacre_portal_open_uri_arguments(const char *uri) {
    GVariantBuilder options;
    g_variant_builder_init(&options, G_VARIANT_TYPE_VARDICT);
    return g_variant_new("(ssa{sv})", "", uri, &options);
}

/// The arguments of org.freedesktop.portal.Settings.Read for the colour scheme.
static inline GVariant *nacre_portal_color_scheme_arguments(void) {
    return g_variant_new("(ss)", "org.freedesktop.appearance", "color-scheme");
}

/// The colour scheme (0 none, 1 dark, 2 light) in a value that the settings portal wraps in one or two variants; 0 if
/// it is something else. Does not take ownership.
static inline guint32 nacre_portal_color_scheme_value(GVariant *value) {
    GVariant *inner = g_variant_ref(value);
    while (g_variant_is_of_type(inner, G_VARIANT_TYPE_VARIANT)) {
        GVariant *next = g_variant_get_variant(inner);
        g_variant_unref(inner);
        inner = next;
    }
    guint32 scheme = g_variant_is_of_type(inner, G_VARIANT_TYPE_UINT32) ? g_variant_get_uint32(inner) : 0;
    g_variant_unref(inner);
    return scheme;
}

#endif
