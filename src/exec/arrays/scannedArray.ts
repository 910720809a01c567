/**
 * Arrays that are computed from files by compiled steps alone, one element or row at a time, in a form by which another process that has the
 * files computes them.
 *
 *     scan ratings.parquet -> filter -> index -> map      no closure is needed, and nothing that lies here
 */
import type { UserFunction } from '../../core/ir/functionIr.ts'
import type { Moment } from '../../core/moment.ts'
import { type LogicalPlan, withInputs } from '../../core/plan/logicalPlan.ts'
import { withFunctions } from '../../core/plan/tree.ts'
import type { StorageForm } from './fromBatches.ts'
import { storageAskedFor } from './storageAskedFor.ts'

export interface ScannedSpec {
  /** An `IndexBuild`, whose functions have no closures. */
  readonly plan: LogicalPlan
  readonly form: StorageForm
  /** The file's name for people, as `ratings.parquet`. */
  readonly file: string
}

const FILES: ReadonlySet<string> = new Set(['parquet', 'arrow', 'csv', 'ndjson', 'text'])

/** The spec by which another process computes a node; undefined where that needs what only this process has. */
export function scannedSpec(node: LogicalPlan, name: string, moment: Moment): ScannedSpec | undefined {
  const input = withoutClosures(node.kind === 'Materialize' ? node.input : node, moment)
  const file = input && fileOf(input)
  if (input === undefined || file === undefined) return undefined
  const form = { name, keys: node.keys, element: node.element, ...storageAskedFor(input) }
  return { plan: { kind: 'IndexBuild', input, element: input.element, keys: input.keys }, form, file }
}

function withoutClosures(node: LogicalPlan, moment: Moment): LogicalPlan | undefined {
  switch (node.kind) {
    case 'Scan': {
      const { kind, given, headers, s3, timeoutMs } = node.source
      // a server's answer may be another one each time, and its secrets stay here
      return FILES.has(kind) && (given ?? headers ?? s3 ?? timeoutMs) === undefined ? node : undefined
    }
    case 'Map':
    case 'Filter':
    case 'WithColumns':
    case 'Project':
    case 'Cast':
    case 'Index': {
      const input = withoutClosures(node.input, moment)
      if (input === undefined || (node.kind === 'Index' && node.combine !== undefined)) return undefined
      let areCompiled = true
      const told = withFunctions(node, (f) => {
        const { original: _, ...own } = moment.now(f)
        areCompiled &&= own.ir !== undefined && own.ir.tables.length === 0
        return own as UserFunction // who computes the array by its IR has no other use for it
      })
      return areCompiled ? withInputs(told, [input]) : undefined
    }
    default:
      return undefined
  }
}

function fileOf(node: LogicalPlan): string | undefined {
  if (node.kind === 'Scan') return node.source.name
  return 'input' in node ? fileOf(node.input) : undefined
}
