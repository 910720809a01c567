/**
 * Row lambdas run from their IR, and plans whose closures are replaced by it: what the rules composed must agree with
 * the closures they composed.
 */
import type { FunctionIr, UserFunction } from '../src/core/ir/functionIr.ts'
import { type GroupHow, inputsOf, type LogicalPlan, withInputs } from '../src/core/plan/logicalPlan.ts'
import { constantsOf, printRow } from '../src/exec/tables/operators/rows/rowKernelSource.ts'

type AnyFunction = (...args: never[]) => unknown

/** The function that the IR describes. */
export function irFunction(ir: FunctionIr, keyArgument: number | undefined): AnyFunction {
  const { locals, body } = printRow(ir, {
    input: (argument) => `$args[${argument}]`,
    field: () => undefined,
    key: (axis) => `$args[${keyArgument ?? 1}][${axis}]`,
    returned: (value, print) => (value === undefined ? 'return;' : `return ${print(value)};`),
  })
  const constants = constantsOf(ir)
  return new Function(...Object.keys(constants), `return (...$args) => {\n${locals}\n${body}\n}`)(
    ...Object.values(constants),
  ) as AnyFunction
}

/** The plan with every lowered function run from its IR. */
export function runFromIr(plan: LogicalPlan): LogicalPlan {
  const node = withInputs(plan, inputsOf(plan).map(runFromIr))
  switch (node.kind) {
    case 'Map':
    case 'Filter':
    case 'WithColumns':
    case 'FlatMap':
      return { ...node, f: fromIr(node.f) }
    case 'Sort':
      return { ...node, by: fromIr(node.by) }
    case 'Window':
      return {
        ...node,
        ...(node.by === undefined ? {} : { by: fromIr(node.by) }),
        ...(node.orderBy === undefined ? {} : { orderBy: fromIr(node.orderBy) }),
        calls: node.calls.map((call) => (call.of === undefined ? call : { ...call, of: fromIr(call.of) })),
      }
    case 'Index':
      return { ...node, f: fromIr(node.f), ...(node.combine === undefined ? {} : { combine: fromIr(node.combine) }) }
    case 'Repartition':
      return node.by === undefined ? node : { ...node, by: fromIr(node.by) }
    case 'GroupBy':
      return { ...node, by: node.by.kind === 'axis' ? node.by : { kind: 'function', f: fromIr(node.by.f) }, how: howFromIr(node.how) }
    case 'Join':
      return node.on.kind === 'functions' ? { ...node, on: { ...node.on, left: fromIr(node.on.left), right: fromIr(node.on.right) } } : node
    default:
      return node
  }
}

function howFromIr(how: GroupHow): GroupHow {
  if (how.kind !== 'agg') return { ...how, f: how.kind === 'reduce' ? fromIr(how.f) : how.f }
  return { ...how, aggregates: how.aggregates.map((call) => (call.of === undefined ? call : { ...call, of: fromIr(call.of) })) }
}

function fromIr(f: UserFunction): UserFunction {
  return f.ir === undefined ? f : { ...f, original: irFunction(f.ir, 1) }
}
