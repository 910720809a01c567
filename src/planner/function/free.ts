/** The meaning of a free name. */
export type Free =
  | { readonly kind: 'captured'; readonly name: string; readonly value: unknown }
  | { readonly kind: 'global'; readonly name: string; readonly value: unknown }
  /** A name that is undefined, not initialized yet, or not defined; or `inspector` is false, since none is available to read it. */
  | { readonly kind: 'absent'; readonly name: string; readonly inspector: boolean }
