/**
 * Passes over the kernel IR: functions from kernel to kernel, applied in the order of the list. Under test the result of each
 * is verified.
 */
import type { KernelModule } from './kernelModule.ts'
import { verify } from './verify.ts'

export interface Pass {
  readonly name: string
  readonly run: (kernel: KernelModule) => KernelModule
}

let isVerifying = false

/** Turns on verification of this thread's kernels, before the first pass and after each one. */
export function verifyKernels(): void {
  isVerifying = true
}

export function withPasses(kernel: KernelModule, passes: readonly Pass[]): KernelModule {
  if (isVerifying) verify(kernel, 'as it is written')
  return passes.reduce((before, { name, run }) => {
    const after = run(before)
    if (isVerifying) verify(after, `after the pass ${name}`)
    return after
  }, kernel)
}
