import type { CapacitorConfig } from "@capacitor/cli";

const devServer = process.env.MOBILE_DEV_SERVER_URL;

const config: CapacitorConfig = {
  appId: "org.example.annotate",
  appName: "Annotate",
  webDir: "www",
  server: {
    androidScheme: "https",
    // The dev server of the web team, when there is one.
    ...(devServer ? { url: devServer, cleartext: true } : {}),
  },
  plugins: {
    CapacitorHttp: { enabled: true },
    StatusBar: { overlaysWebView: false, style: "DARK" },
  },
};

export default config;
