/**
 * Whether the program has ever changed its time zone (TZ) since it was loaded. Threads keep the zone they were started with,
 * and some may have started between a change and its undoing: so the first change seen is remembered.
 */
const zone = process.env.TZ
let changed = false

export function hasChangedTimeZone(): boolean {
  changed ||= process.env.TZ !== zone
  return changed
}
