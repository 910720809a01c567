/**
 * Passes over the kernel IR: functions from kernel to kernel, in the order in which they are named. Under test what each
 * gives is verified.
 */
import type { KernelModule } from './kernelModule.ts'
import { verify } from './verify.ts'

export interface Pass {
  readonly name: string
  readonly run: (kernel: KernelModule) => KernelModule
}

let isVerifying = false

/** From now on kernels of this thread are verified, as they are written and after each pass. */
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
