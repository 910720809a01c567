/**
 * Whether the program has changed its time zone since it was loaded. Threads have the zone they were started with, and
 * who changes it back may have started some in between: so one change is remembered.
 */
const zone = process.env.TZ
let changed = false

export function hasChangedTimeZone(): boolean {
  changed ||= process.env.TZ !== zone
  return changed
}
