/** Prints the kernels of a column program for explain(): the one that selects rows, and the one that computes columns. */
import type { ColumnCode } from '../../../core/ir/kernelCode.ts'
import { compiled } from '../../kernels/columns/programShape.ts'
import { selectKernel, valuesKernel } from '../../kernels/columns/wasmColumns.ts'
import type { AddressType } from '../../kir/kernelModule.ts'
import { withAddresses } from '../../kir/passes/wideAddresses.ts'
import { kernelText } from '../../kir/text.ts'
import type { ColumnProgram } from './columnProgram.ts'

/** The kernels as `materialize()` runs them; a fold runs the same, without storing columns. */
export function programCode({ element, kernelColumns, steps, shape }: ColumnProgram, addresses: AddressType): readonly ColumnCode[] {
  const computed = shape.outputs.flatMap((output) => (output.kind === 'computed' ? [output.name] : []))
  const integers = shape.outputs.flatMap((output) => (output.kind === 'computed' && output.type === 'i32' ? [output.name] : []))
  const options = { outputs: computed, asDoubles: false, sparse: shape.filters, integers }
  const kernels = [
    ...(shape.filters
      ? [
          {
            gives: 'a bit for each row that is kept',
            kernel: compiled(() => selectKernel(element, kernelColumns, steps, { skipsNulls: false })),
          },
        ]
      : []),
    ...(computed.length === 0
      ? []
      : [
          {
            gives:
              shape.hidden !== undefined
                ? 'what is computed of keys and arguments'
                : shape.scalar
                  ? 'the values'
                  : `the columns ${computed.join(', ')}`,
            kernel: compiled(() => valuesKernel(element, kernelColumns, steps, options)),
          },
        ]),
  ]
  return kernels.flatMap(({ gives, kernel }) =>
    'because' in kernel ? [] : [{ gives, text: kernelText(withAddresses(kernel.module, addresses), kernel.names) }],
  )
}
