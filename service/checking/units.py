"""Units as they are written in Chinese and English, and what they come to; currencies are never converted."""

from __future__ import annotations

from decimal import Decimal

COUNT = "count"  # 三条, 5 个: how many of something

# unit, how many of it one of these is, written forms (a low line stands for a space)
_FORMS = (
    ("%", "1", "% percent per_cent pct"),
    ("%", "0.1", "‰"),
    ("percentage point", "1", "percentage_points percentage_point 个百分点"),
    ("percentage point", "0.01", "basis_points basis_point bps 个基点"),
    ("m", "1000", "kilometers kilometres kilometer kilometre km 公里 千米 ㎞"),
    ("m", "1", "meters metres meter metre m 米 公尺"),
    ("m", "0.01", "centimeters centimetres centimeter centimetre cm 厘米 公分 ㎝"),
    ("m", "0.001", "millimeters millimetres millimeter millimetre mm 毫米 公厘 ㎜"),
    ("m", "0.3048", "feet foot ft 英尺"),
    ("m", "0.0254", "inches inch 英寸"),
    ("m", "0.9144", "yards yard 码"),
    ("m", "1609.344", "miles mile 英里"),
    ("m²", "1", "m² m2 sqm square_metres square_meters 平方米 平米 ㎡"),
    ("m²", "1000000", "km² km2 平方公里 平方千米"),
    ("m²", "10000", "hectares hectare ha 公顷"),
    ("m²", "4046.8564224", "acres acre 英亩"),
    ("m³", "1", "m³ m3 cubic_metres cubic_meters 立方米"),
    ("km/h", "1", "km/h kph kilometres_per_hour kilometers_per_hour 公里/小时 千米/小时 公里每小时"),
    ("km/h", "1.609344", "mph miles_per_hour"),
    ("km/h", "3.6", "m/s 米/秒 米每秒"),
    ("kWh", "1", "kwh kilowatt_hours 千瓦时"),
    ("kWh", "1000", "mwh megawatt_hours 兆瓦时"),
    ("kW", "1", "kw kilowatts kilowatt 千瓦"),
    ("kW", "1000", "mw megawatts megawatt 兆瓦"),
    ("kW", "0.001", "watts watt 瓦"),
    ("V", "1", "volts volt 伏"),
    ("Hz", "1", "hz 赫兹"),
    ("Hz", "1000000", "mhz 兆赫"),
    ("Hz", "1000000000", "ghz"),
    ("Mbit/s", "1", "mbps mbit/s 兆比特每秒"),
    ("Mbit/s", "1000", "gbps gbit/s"),
    ("g", "1000", "kilograms kilogrammes kilogram kilogramme kg 公斤 千克 ㎏"),
    ("g", "1", "grams gram g 克 公克"),
    ("g", "0.001", "milligrams milligram mg 毫克 ㎎"),
    ("g", "1000000", "tonnes tonne tons ton 吨 噸"),
    ("g", "500", "斤"),
    ("g", "453.59237", "lbs lb 磅"),
    ("g", "28.349523125", "ounces ounce oz 盎司"),
    ("l", "1", "litres liters litre liter l 升 公升"),
    ("l", "0.001", "millilitres milliliters ml 毫升"),
    ("second", "86400", "days day 天 日 个自然日 自然日 calendar_days calendar_day"),
    ("second", "1209600", "fortnights fortnight"),
    ("second", "604800", "weeks week 周 星期 个星期 礼拜 週"),
    ("second", "3600", "hours hour hrs hr h 小时 个小时 钟头 小時"),
    ("second", "60", "minutes minute mins min 分钟 分鐘"),
    ("second", "1", "seconds second secs sec s 秒 秒钟"),
    ("second", "0.001", "milliseconds millisecond ms 毫秒"),
    ("workday", "1", "working_days working_day business_days business_day workdays workday 个工作日 工作日"),
    ("month", "1", "months month 个月 個月"),
    ("month", "3", "个季度"),
    ("month", "12", "years year 年 周年"),
    ("month", "120", "decades decade"),
    ("year old", "1", "周岁 岁 歲 years_old year_old years_of_age"),
    ("CNY", "1", "元 块 块钱 人民币 cny rmb yuan"),
    ("CNY", "0.1", "角"),
    ("USD", "1", "usd dollars dollar us_dollars us_dollar 美元 美金"),
    ("CAD", "1", "cad canadian_dollars canadian_dollar 加元"),
    ("AUD", "1", "aud australian_dollars australian_dollar 澳元"),
    ("SGD", "1", "sgd singapore_dollars singapore_dollar 新加坡元 新元"),
    ("CHF", "1", "chf swiss_francs swiss_franc francs 瑞士法郎"),
    ("KRW", "1", "krw won 韩元"),
    ("INR", "1", "inr rupees rupee 卢比"),
    ("RUB", "1", "rub roubles rubles 卢布"),
    ("money", "0.01", "cents cent"),
    ("EUR", "1", "eur euros euro 欧元 歐元 €"),
    ("GBP", "1", "gbp pounds 英镑 英鎊"),
    ("JPY", "1", "jpy yen 日元 日圆 日圓"),
    ("HKD", "1", "hkd hong_kong_dollars 港元 港币"),
    ("TWD", "1", "twd new_taiwan_dollars 新台币 台币"),
    ("°C", "1", "°c ℃ 摄氏度 degrees_celsius"),
    ("degree", "1", "度 degrees degree °"),
    ("°F", "1", "°f ℉ 华氏度 degrees_fahrenheit"),
    ("byte", "1024", "kb kib"),
    ("byte", "1048576", "mb mib"),
    ("byte", "1073741824", "gb gib"),
    ("byte", "1099511627776", "tb tib"),
    ("fold", "1", "倍"),
    ("person", "1", "people persons person employees 人 名 位"),
    ("page", "1", "pages page 页 頁"),
    ("floor", "1", "floors storeys 层 層"),
    ("occasion", "1", "次 回"),
    ("times", "1", "times"),
    (COUNT, "1", "条 條 个 個 项 項 种 種 类 類 级 級 章 节 節 款 件 台 套 份 门 門 家 部 届 屆 期 步 组 組"),
    (COUNT, "1", "册 张 張 封 艘 辆 輛 座 间 間 所 支 只 隻 批"),
)
UNITS: dict[str, tuple[str, Decimal]] = {
    written.replace("_", " "): (unit, Decimal(factor))
    for unit, factor, forms in _FORMS
    for written in forms.split(" ")
}
CURRENCY_SIGNS = {"$": "USD", "us$": "USD", "usd": "USD", "€": "EUR", "eur": "EUR", "£": "GBP", "gbp": "GBP"}
CURRENCY_SIGNS |= {"¥": "CNY", "rmb": "CNY", "cny": "CNY", "人民币": "CNY", "hk$": "HKD", "nt$": "TWD"}
CURRENCY_SIGNS |= {
    "c$": "CAD",
    "cad": "CAD",
    "a$": "AUD",
    "aud": "AUD",
    "s$": "SGD",
    "sgd": "SGD",
    "chf": "CHF",
}
CURRENCY_SIGNS |= {"jp¥": "JPY", "jpy": "JPY", "hkd": "HKD"}
# Units of one measure that are told apart when a number is read: unit -> measure, how many of it one is.
MEASURES = {"fold": ("%", 100), "year old": ("month", 12)}
# Units that may stand for one another, value for value: a count of persons is a count.
AGREEING = frozenset(
    {frozenset((COUNT, one)) for one in ("person", "page", "floor", "occasion", "times")}
    | {frozenset(("times", one)) for one in ("occasion", "fold")}
    | {frozenset(("degree", one)) for one in ("°C", "°F", "kWh")}
    | {frozenset(("money", one)) for one in CURRENCY_SIGNS.values()}
)
