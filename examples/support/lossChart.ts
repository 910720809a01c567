/** The curve of training and held-out error, as an SVG file. */
import { writeFileSync } from 'node:fs'
import { LineChart } from 'echarts/charts'
import { GridComponent, LegendComponent, TitleComponent } from 'echarts/components'
import { init, use } from 'echarts/core'
import { SVGRenderer } from 'echarts/renderers'

export function writeLossChart(path: string, trainRmse: readonly number[], testRmse: readonly number[]): void {
  use([LineChart, GridComponent, LegendComponent, TitleComponent, SVGRenderer])
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: 720, height: 420 })
  chart.setOption({
    animation: false,
    title: { text: 'Error per pass (RMSE, stars)', left: 'center' },
    legend: { bottom: 0 },
    grid: { left: 60, right: 30, top: 50, bottom: 60 },
    xAxis: { type: 'category', name: 'pass', nameLocation: 'middle', nameGap: 25, data: trainRmse.map((_, i) => i + 1) },
    yAxis: { type: 'value', scale: true },
    series: [
      { name: 'training', type: 'line', data: [...trainRmse] },
      { name: 'held out', type: 'line', data: [...testRmse] },
    ],
  })
  writeFileSync(path, chart.renderToSVGString())
  chart.dispose()
}
