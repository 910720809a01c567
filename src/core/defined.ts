/** The fields that hold something: for optional fields, which are absent rather than undefined. */
export function defined<T extends object>(fields: T): { [N in keyof T]?: Exclude<T[N], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [N in keyof T]?: Exclude<T[N], undefined>
  }
}
