/** The results of the IR's operators, by JavaScript's own, for folding constants and for interpreting bodies. */
import type { BinaryOperator } from './functionIr.ts'

/** Applies an operator. Operands may be of any type; declaring them as numbers lets TypeScript pass the operators on to JavaScript. */
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
