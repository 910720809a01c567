/** Drops the fields whose value is undefined: under exactOptionalPropertyTypes an optional field is absent instead. */
export function defined<T extends object>(fields: T): { [N in keyof T]?: Exclude<T[N], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [N in keyof T]?: Exclude<T[N], undefined>
  }
}
