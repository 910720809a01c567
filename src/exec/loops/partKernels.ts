/** Joins what plans say about the kernels of a split loop's parts, before a run and after. */
import type { KernelCode } from '../../core/ir/kernelCode.ts'
import type { LoopPlan } from '../../core/loop/loopPlan.ts'

/** The least compiled kernel of the parts, the first among equals; undefined without parts. */
export function leastKernel(kernels: readonly LoopPlan['kernel'][]): LoopPlan['kernel'] | undefined {
  const targets = ['as-is', 'js', 'wasm', 'wasm-simd']
  const ranks = kernels.map(({ target }) => targets.indexOf(target))
  return kernels[ranks.indexOf(Math.min(...ranks))]
}

/** The lines about the inner loops of all parts. */
export function linesOfParts(lines: readonly (readonly string[])[]): string[] {
  return lines.flatMap((own, at) => own.map((line) => `part ${at + 1}, ${line}`))
}

/** The texts of the parts' kernels, one below the other. */
export function codeOfParts(codes: readonly KernelCode[]): KernelCode {
  const texts = codes.map(({ language, text }, at) => `${language === 'WebAssembly' ? ';;' : '//'} part ${at + 1}\n${text}`)
  return { language: codes.every(({ language }) => language === 'WebAssembly') ? 'WebAssembly' : 'JavaScript', text: texts.join('\n') }
}
