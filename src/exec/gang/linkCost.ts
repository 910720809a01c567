/** What links cost, on both ends of one between two processes of a machine. */
export interface LinkCost {
  /** From one process's own thread by the threads of its link and the other's to the other's own. */
  readonly messageMs: number
  /** Sending and receiving a byte, with packing, comparing or copying it. */
  readonly msPerByte: number
}

/** By processor time: `npm run bench -- gang --only messages`. */
export const NOMINAL_COST: LinkCost = { messageMs: 0.25, msPerByte: 4e-6 }
