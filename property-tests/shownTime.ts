/** The clock of a time zone, as `Intl` tells it. */
const formats = new Map<string, Intl.DateTimeFormat>()

/** What a clock shows, as if it stood in UTC. */
export function shown(ms: number, zone: string): number {
  let format = formats.get(zone)
  if (format === undefined)
    formats.set(zone, (format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })))
  return Date.parse(`${format.format(ms).replace(' ', 'T')}Z`) + (((ms % 1000) + 1000) % 1000)
}
