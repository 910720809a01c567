/** What a free name stands for. */
export type Free =
  | { readonly kind: 'captured'; readonly name: string; readonly value: unknown }
  | { readonly kind: 'global'; readonly name: string; readonly value: unknown }
  /** Undefined, not initialized yet, not defined, or the inspector is not available. */
  | { readonly kind: 'absent'; readonly name: string; readonly inspector: boolean }
