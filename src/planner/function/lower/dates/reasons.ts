/** Why bodies and functions with Dates are left to JavaScript: a part of the table in `refusals.ts`. */
export const DATE_REASONS = {
  'date-as-value': {
    message: '{name} is used as an object, not as a point in time.',
    cure: 'Compare it with < or >, subtract it, or take its getTime().',
  },
  'date-local': {
    message: '{name} follows the time zone of the process, which another may not share.',
    cure: 'Use the getUTC… methods, and new Date(Date.UTC(year, month, day)).',
  },
  'date-changed': {
    message: '{name} changes a Date.',
    cure: 'Make another, as new Date(date.getTime() + 86400000).',
  },
  'date-of-unknown': {
    message: 'In {name} it is not known to be a text or a number that it makes a time of.',
    cure: 'Say which, as new Date(Number(x)) or new Date(String(x)).',
  },
  'date-identity': {
    message: 'It asks whether two Dates are the same object.',
    cure: 'Compare their times, as a.getTime() === b.getTime().',
  },
} as const
