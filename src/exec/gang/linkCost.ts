/** What links cost, by processor time on both ends of one between two processes of a machine: `npm run bench -- gang --only messages`. */

/** From one process's own thread by the threads of its link and the other's to the other's own. */
export const MESSAGE_MS = 0.25
/** Sending and receiving a byte, with packing, comparing or copying it. */
export const MS_PER_BYTE = 4e-6
