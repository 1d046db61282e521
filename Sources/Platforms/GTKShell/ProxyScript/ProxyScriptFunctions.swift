// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.

#if GTKShell && os(Linux)
    /// The functions that every automatic proxy configuration may call, after Netscape's "Navigator Proxy Auto-Config File
    /// Format" of 1996, which is all the standard there is. `dnsResolve` and `myIpAddress` are native.
    enum ProxyScriptFunctions {
        static let source = #"""
            var isPlainHostName = (host) => !String(host).includes(".");
            var dnsDomainIs = (host, domain) => String(host).toLowerCase().endsWith(String(domain).toLowerCase());
            var localHostOrDomainIs = (host, name) =>
              host === name || (isPlainHostName(host) && String(name).startsWith(host + "."));
            var dnsDomainLevels = (host) => String(host).split(".").length - 1;
            var isResolvable = (host) => dnsResolve(host) !== null;
            var alert = () => {};

            var convert_addr = (text) => {
              const parts = String(text).split(".").map(Number);
              if (parts.length !== 4 || parts.some((part) => !(part >= 0 && part <= 255))) return null;
              return ((parts[0] << 24) | (parts[1] << 16) | (parts[2] << 8) | parts[3]) >>> 0;
            };
            var isInNet = (host, pattern, mask) => {
              const literal = convert_addr(host), found = literal === null ? dnsResolve(host) : host;
              if (found === null) return false;
              const bits = convert_addr(mask);
              return ((convert_addr(found) & bits) >>> 0) === ((convert_addr(pattern) & bits) >>> 0);
            };
            var shExpMatch = (text, pattern) => {
              const quoted = String(pattern).replace(/[.+^${}()|[\]\\]/g, "\\$&");
              return new RegExp("^" + quoted.replace(/\*/g, ".*").replace(/\?/g, ".") + "$", "s").test(String(text));
            };

            // Days and times are the machine's own, or UTC where the last argument is "GMT".
            {
              const DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
              const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
              const take = (given) => {
                const gmt = given.at(-1) === "GMT", now = new Date();
                const read = (part) => now[(gmt ? "getUTC" : "get") + part]();
                return { read, words: gmt ? given.slice(0, -1) : given };
              };
              // A range that ends before it begins goes round the end of the week, the year or the day.
              const within = (from, now, to) => from <= to ? from <= now && now <= to : from <= now || now <= to;

              globalThis.weekdayRange = (...given) => {
                const { read, words } = take(given);
                const days = words.map((word) => DAYS.indexOf(word));
                return within(days[0], read("Day"), days.at(-1));
              };
              globalThis.dateRange = (...given) => {
                const { read, words } = take(given);
                const unit = (word) => typeof word === "string" ? "month" : word > 31 ? "year" : "day";
                const number = (of) => (of.year ?? 0) * 10000 + (of.month ?? 0) * 100 + (of.day ?? 0);
                const date = (some) => Object.fromEntries(
                  some.map((word) => [unit(word), typeof word === "string" ? MONTHS.indexOf(word) + 1 : word]));
                const half = Math.ceil(words.length / 2), from = date(words.slice(0, half));
                const now = { year: read("FullYear"), month: read("Month") + 1, day: read("Date") };
                const seen = Object.fromEntries(Object.keys(from).map((name) => [name, now[name]]));
                const to = words.length > 1 ? date(words.slice(half)) : from;
                return within(number(from), number(seen), number(to));
              };
              globalThis.timeRange = (...given) => {
                const { read, words } = take(given);
                const half = Math.ceil(words.length / 2);
                const seconds = (of, rest) => of[0] * 3600 + (of[1] ?? rest) * 60 + (of[2] ?? rest);
                const now = seconds([read("Hours"), read("Minutes"), read("Seconds")], 0);
                const to = words.length > 1 ? words.slice(half) : words;
                return within(seconds(words.slice(0, half), 0), now, seconds(to, 59));
              };
            }
            """#
    }
#endif
