/**
 * Functions made from text: kernels, and copies of the user's functions.
 *
 * A process may forbid `Function` and `eval` (`--disallow-code-generation-from-strings`), since what they run may have come from
 * outside. What is made here was put together by the library, of the program's own functions; so it is made by `node:vm` there,
 * which that flag leaves alone.
 */
import { compileFunction } from 'node:vm'

export function madeFromText(parameters: readonly string[], body: string): (...args: never[]) => unknown {
  try {
    return new Function(...parameters, body) as (...args: never[]) => unknown
  } catch (error) {
    if (!(error instanceof EvalError)) throw error
    return compileFunction(body, [...parameters]) as (...args: never[]) => unknown
  }
}
