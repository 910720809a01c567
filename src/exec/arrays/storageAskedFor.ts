/** The storage that a plan asks for: the options of `index`, seen through the elementwise operations above it. */
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import type { StorageForm } from './fromBatches.ts'

/** The options asked for; empty where there are none: then it depends on whether every key has an element. */
export function storageAskedFor(node: LogicalPlan): Pick<StorageForm, 'storage' | 'combine'> {
  switch (node.kind) {
    case 'Index':
      return {
        ...(node.storage === undefined ? {} : { storage: node.storage }),
        ...(node.combine === undefined ? {} : { combine: node.combine.original as (a: never, b: never) => unknown }), // its arguments are two elements
      }
    case 'Map':
    case 'WithColumns':
    case 'Project':
    case 'Cast':
    case 'Materialize':
      return onlyStorage(storageAskedFor(node.input).storage)
    default:
      return {}
  }
}

function onlyStorage(storage: 'dense' | 'sparse' | undefined): { readonly storage?: 'dense' | 'sparse' } {
  return storage === undefined ? {} : { storage }
}
