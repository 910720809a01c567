/** What the operators of the IR give: JavaScript's own, for folding constants and for interpreting bodies. */
import type { BinaryOperator } from './functionIr.ts'

/** The operands are anything; `number` lets TypeScript pass the operators through to JavaScript. */
export function applyBinary(operator: BinaryOperator, a: number, b: number): unknown {
  switch (operator) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '/':
      return a / b
    case '%':
      return a % b
    case '**':
      return a ** b
    case '&':
      return a & b
    case '|':
      return a | b
    case '^':
      return a ^ b
    case '<<':
      return a << b
    case '>>':
      return a >> b
    case '>>>':
      return a >>> b
    case '==':
      // biome-ignore lint/suspicious/noDoubleEquals: the source's own operator
      return a == b
    case '!=':
      // biome-ignore lint/suspicious/noDoubleEquals: the source's own operator
      return a != b
    case '===':
      return a === b
    case '!==':
      return a !== b
    case '<':
      return a < b
    case '<=':
      return a <= b
    case '>':
      return a > b
    case '>=':
      return a >= b
  }
}
