/** A loop's kernel as text for people: the WebAssembly module, or the generated JavaScript. */
import type { KernelCode } from '../../core/ir/kernelCode.ts'
import type { KernelPlan } from './kernelPlan.ts'

export function kernelCode({ text, wasm }: KernelPlan, options: { readonly kernel?: 'js' } = {}): KernelCode {
  if ('because' in wasm || options.kernel === 'js') return { language: 'JavaScript', text: indented(text) }
  return { language: 'WebAssembly', text: wasm.text() }
}

/** Indents generated JavaScript, which comes without: a line is as deep as braces are open where it starts. */
function indented(source: string): string {
  let depth = 0
  const lines: string[] = []
  for (const line of source.split('\n').filter((text) => text !== '')) {
    const bare = line.replace(/"(?:[^"\\]|\\.)*"/g, '')
    const closesFirst = /^[})]*/.exec(bare)?.[0].replaceAll(')', '').length ?? 0
    lines.push('  '.repeat(Math.max(0, depth - closesFirst)) + line)
    for (const c of bare) if (c === '{' || c === '}') depth += c === '{' ? 1 : -1
  }
  return lines.join('\n')
}
