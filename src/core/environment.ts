/** Checks of the process: WebAssembly, shared memory, address space and threads, with the cure where one is missing. */
import { PlanError } from './errors.ts'

/** Throws PlanError where the process has no WebAssembly or no SharedArrayBuffer, in which arrays lie. */
export function checkEnvironment(): void {
  if (typeof WebAssembly === 'undefined') {
    throw new PlanError(
      'There is no WebAssembly in this process, and arrays lie in its memory. Start Node without --jitless or --no-expose-wasm, and leave globalThis.WebAssembly where it is.',
    )
  }
  if (typeof SharedArrayBuffer === 'undefined') {
    throw new PlanError(
      'There is no SharedArrayBuffer in this process, and all threads share arrays by it. Leave globalThis.SharedArrayBuffer where it is.',
    )
  }
}

/** The error for a WebAssembly memory whose address space the system does not give. */
export function addressSpaceError(cause: unknown): PlanError {
  return new PlanError(
    "The system gives no address space for the session's memory: V8 reserves 10 GB of it for each, of which it uses what arrays take. Raise the limit (ulimit -v unlimited), or start Node with --disable-wasm-trap-handler, which reserves 4 GB.",
    { cause },
  )
}

/** The error for a thread that the permission model does not allow; undefined for any other failure. */
export function refusedThread(cause: unknown): PlanError | undefined {
  if ((cause as { readonly code?: unknown } | undefined)?.code !== 'ERR_ACCESS_DENIED') return undefined
  return new PlanError(
    'The permission model of this process allows no worker threads. Start Node with --allow-worker, or the session with { workers: 1 }, which needs none.',
    { cause },
  )
}
