"""Units as they are written in Chinese and English, and what they come to; currencies are never converted."""

from __future__ import annotations

from decimal import Decimal

COUNT = "count"  # 三条, 5 人, 3 次: how many of something

# unit, how many of it one of these is, written forms (a low line stands for a space)
_FORMS = (
    ("%", "1", "% percent per_cent pct"),
    ("percentage point", "1", "percentage_points percentage_point 个百分点"),
    ("m", "1000", "kilometers kilometres kilometer kilometre km 公里 千米 ㎞"),
    ("m", "1", "meters metres meter metre m 米 公尺"),
    ("m", "0.01", "centimeters centimetres centimeter centimetre cm 厘米 公分 ㎝"),
    ("m", "0.001", "millimeters millimetres millimeter millimetre mm 毫米 公厘 ㎜"),
    ("m²", "1", "m² m2 sqm 平方米 平米 ㎡"),
    ("m²", "1000000", "km² km2 平方公里 平方千米"),
    ("g", "1000", "kilograms kilogrammes kilogram kilogramme kg 公斤 千克 ㎏"),
    ("g", "1", "grams gram g 克 公克"),
    ("g", "0.001", "milligrams milligram mg 毫克 ㎎"),
    ("g", "1000000", "tonnes tonne tons ton 吨 噸"),
    ("g", "500", "斤"),
    ("l", "1", "litres liters litre liter l 升 公升"),
    ("l", "0.001", "millilitres milliliters ml 毫升"),
    ("second", "86400", "days day 天 日 个自然日 自然日 calendar_days calendar_day"),
    ("second", "604800", "weeks week 周 星期 个星期 礼拜 週"),
    ("second", "3600", "hours hour hrs hr h 小时 个小时 钟头 小時"),
    ("second", "60", "minutes minute mins min 分钟 分鐘"),
    ("second", "1", "seconds second secs sec s 秒 秒钟"),
    ("second", "0.001", "milliseconds millisecond ms 毫秒"),
    ("workday", "1", "working_days working_day business_days business_day workdays workday 个工作日 工作日"),
    ("month", "1", "months month 个月 個月"),
    ("month", "3", "个季度 季度"),
    ("month", "12", "years year 年 周年"),
    ("year old", "1", "岁 歲 years_old year_old"),
    ("CNY", "1", "元 块 块钱 人民币 cny rmb yuan"),
    ("USD", "1", "usd dollars dollar 美元 美金"),
    ("EUR", "1", "eur euros euro 欧元 歐元 €"),
    ("GBP", "1", "gbp pounds 英镑 英鎊"),
    ("JPY", "1", "jpy yen 日元 日圆 日圓"),
    ("HKD", "1", "hkd 港元 港币"),
    ("TWD", "1", "twd 新台币 台币"),
    ("°C", "1", "°c ℃ 摄氏度 度 degrees_celsius degrees degree °"),
    ("°F", "1", "°f ℉ 华氏度 degrees_fahrenheit"),
    ("byte", "1024", "kb kib"),
    ("byte", "1048576", "mb mib"),
    ("byte", "1073741824", "gb gib"),
    ("byte", "1099511627776", "tb tib"),
    ("fold", "1", "倍"),
    (
        COUNT,
        "1",
        "people persons person employees times 人 名 位 次 条 條 个 個 项 項 种 種 类 類 级 級 章 节 節 款",
    ),
    (
        COUNT,
        "1",
        "件 台 套 份 页 頁 层 層 门 門 家 部 届 屆 期 步 组 組 册 张 張 封 艘 辆 輛 座 间 間 所 支 只 隻 批",
    ),
)
UNITS: dict[str, tuple[str, Decimal]] = {
    written.replace("_", " "): (unit, Decimal(factor))
    for unit, factor, forms in _FORMS
    for written in forms.split(" ")
}
CURRENCY_SIGNS = {"$": "USD", "us$": "USD", "usd": "USD", "€": "EUR", "eur": "EUR", "£": "GBP", "gbp": "GBP"}
CURRENCY_SIGNS |= {"¥": "CNY", "rmb": "CNY", "cny": "CNY", "人民币": "CNY", "hk$": "HKD", "nt$": "TWD"}
