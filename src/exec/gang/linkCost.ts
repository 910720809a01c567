/** The cost of a link between two processes of a machine, on both ends together. */
export interface LinkCost {
  /** The time of a message from one process's main thread, by the link threads of both, to the other's main thread. */
  readonly messageMs: number
  /** The time of sending and receiving a byte, with packing, comparing or copying it. */
  readonly msPerByte: number
}

/** The cost on one machine by processor time: `npm run bench -- gang --only messages`. */
export const NOMINAL_COST: LinkCost = { messageMs: 0.25, msPerByte: 4e-6 }
