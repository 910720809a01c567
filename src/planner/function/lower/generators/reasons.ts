/** Why bodies with generators are left to JavaScript: a part of the table in `refusals.ts`. */
export const GENERATOR_REASONS = {
  'generator-value': {
    message: 'It calls the generator {name} elsewhere than where it goes through what that gives.',
    cure: 'Write for (const v of {name}(…)), or [...{name}(…)], or a function that returns a list.',
  },
  'generator-try': {
    message: 'The generator {name} has a try, whose finally would run when a loop over it is left.',
    cure: 'Write it as a loop, or without try.',
  },
} as const
