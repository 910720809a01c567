/** Writes a size for people: binary units, three digits at most, as `1.5 GiB`. */
export function bytesText(bytes: number): string {
  if (bytes === 1) return '1 byte'
  if (bytes < 1024) return `${bytes} bytes`
  let unit = -1
  let size = bytes
  for (; size >= 1023.5 && unit < UNITS.length - 1; unit++) size /= 1024
  const digits = size < 9.995 ? 2 : size < 99.95 ? 1 : 0
  return `${String(Number(size.toFixed(digits)))} ${UNITS[unit]}`
}

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const
