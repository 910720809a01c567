/**
 * Reads the text of the script or module that a function stands in, as the engine runs it, and the function's place in it: tools may
 * have made it of the user's file.
 *
 * V8 tells by functions that code may name only under a flag. The flag is set for the one look alone, as code that was
 * compiled under it may have to be compiled again later.
 */
import { setFlagsFromString } from 'node:v8'

type AnyFunction = (...args: never[]) => unknown

export interface ScriptText {
  readonly text: string
  /** An offset between the function's first letter and its body. */
  readonly at: number
}

/** Returns the script of a function; undefined where the engine does not tell, or code must not be made from text. */
export function scriptTextOf(f: AnyFunction): ScriptText | undefined {
  const wasAllowed = isAllowed()
  try {
    setFlagsFromString('--allow-natives-syntax')
    const tell = new Function('f', 'return [%FunctionGetScriptSource(f), %FunctionGetScriptSourcePosition(f)]')
    const [text, at] = tell(f) as readonly unknown[] // the two results
    return typeof text === 'string' && typeof at === 'number' ? { text, at } : undefined
  } catch {
    return undefined
  } finally {
    if (!wasAllowed) setFlagsFromString('--no-allow-natives-syntax')
  }
}

/** Whether the program itself runs under the flag. */
function isAllowed(): boolean {
  try {
    new Function('%FunctionIsAPIFunction(0)')
    return true
  } catch {
    return false
  }
}
