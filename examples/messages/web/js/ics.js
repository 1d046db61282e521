// Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
// The events of a calendar file (RFC 5545), as far as a reader needs them: what, when, where, who.

const unescape = (text) => text.replace(/\\([\\;,nN])/g, (_, character) => (/n/i.test(character) ? "\n" : character));

/** Splits `NAME;PARAM="a;b":value`. */
function readLine(line) {
  let at = 0;
  let quoted = false;
  while (at < line.length && (quoted || line[at] !== ":")) {
    if (line[at] === '"') quoted = !quoted;
    at += 1;
  }
  const [name, ...parameters] = line.slice(0, at).match(/(?:"[^"]*"|[^;"])+/g) ?? [""];
  const values = Object.fromEntries(parameters.map((part) => {
    const [key, ...rest] = part.split("=");
    return [key.toUpperCase(), rest.join("=").replace(/^"|"$/g, "")];
  }));
  return { name: name.toUpperCase(), parameters: values, value: line.slice(at + 1) };
}

/** `{date, allDay}`; a time zone by name is read as that zone's clock, which the reader is told. */
function readDate({ value, parameters }) {
  const match = value.match(/^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z)?)?$/);
  if (!match) return null;
  const [, year, month, day, hour, minute, second, utc] = match;
  const numbers = [year, month - 1, day, hour ?? 0, minute ?? 0, second ?? 0].map(Number);
  if (hour === undefined) return { date: new Date(...numbers.slice(0, 3)), allDay: true };
  if (utc) return { date: new Date(Date.UTC(...numbers)), allDay: false };
  return { date: inZone(numbers, parameters.TZID) ?? new Date(...numbers), allDay: false };
}

/** The moment at which a clock in this zone shows these numbers; null where the browser does not know the zone. */
function inZone(numbers, zone) {
  if (!zone) return null;
  try {
    const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" });
    const wanted = Date.UTC(...numbers);
    let guess = wanted;
    for (let round = 0; round < 2; round += 1) {
      const shown = Object.fromEntries(format.formatToParts(guess).map(({ type, value }) => [type, Number(value)]));
      guess += wanted - Date.UTC(shown.year, shown.month - 1, shown.day, shown.hour, shown.minute, shown.second);
    }
    return new Date(guess);
  } catch {
    return null;
  }
}

export function readCalendar(text) {
  const lines = text.replace(/\r\n?/g, "\n").replace(/\n[ \t]/g, "").split("\n");
  const events = [];
  let event = null;
  let depth = 0;
  for (const line of lines) {
    const { name, parameters, value } = readLine(line);
    if (name === "BEGIN" && value.toUpperCase() === "VEVENT") event = { people: [] };
    else if (name === "BEGIN" && event) depth += 1;
    else if (name === "END" && event && depth > 0) depth -= 1;
    else if (name === "END" && event) {
      events.push(event);
      event = null;
    } else if (event && depth === 0) {
      if (name === "SUMMARY") event.summary = unescape(value);
      if (name === "LOCATION") event.place = unescape(value);
      if (name === "DESCRIPTION") event.text = unescape(value);
      if (name === "DTSTART") event.start = readDate({ value, parameters });
      if (name === "DTEND") event.end = readDate({ value, parameters });
      if (name === "STATUS") event.cancelled = value.toUpperCase() === "CANCELLED";
      if (name === "RRULE") event.repeats = true;
      const person = () => parameters.CN || value.replace(/^mailto:/i, "");
      if (name === "ORGANIZER") event.organizer = person();
      if (name === "ATTENDEE" && event.people.length < 50) event.people.push(person());
    }
    if (events.length >= 50) break;
  }
  return events;
}
