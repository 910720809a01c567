/** All entries, by the file they stand in. */
import { disguised } from './disguised.ts'
import { dynamicProgramming } from './dynamicProgramming.ts'
import type { Entry } from './entry.ts'
import { graphs } from './graphs.ts'
import { learning } from './learning.ts'
import { linearAlgebra } from './linearAlgebra.ts'
import { reductions } from './reductions.ts'
import { reported } from './reported.ts'
import { scratch } from './scratch.ts'
import { stencils } from './stencils.ts'
import { subscripts } from './subscripts.ts'

export const families: Readonly<Record<string, readonly Entry[]>> = {
  linearAlgebra,
  dynamicProgramming,
  stencils,
  reductions,
  scratch,
  subscripts,
  disguised,
  graphs,
  learning,
  reported,
}
