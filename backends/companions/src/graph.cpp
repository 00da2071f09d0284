// SPDX-License-Identifier: Apache-2.0
// The graph engine, as far as MindSpore's library for NPUs is linked with it: the loader wants each of these C++
// functions, and its initializers register operators. Functions that build a graph raise an exception, because
// the simulator has no graph engine; MindSpore passes its text on. The names are those that `nm -D` shows in the
// library of MindSpore 2.10.
#include <cxxabi.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

// Functions by their names in the object file, because no header declares their classes.
#define FUNCTION(type, symbol, number)                                                     \
    __attribute__((visibility("default"))) type graph_function_##number() __asm__(symbol); \
    type graph_function_##number()
#define NUMBERED(type, symbol, number) FUNCTION(type, symbol, number)
#define REGISTERED(symbol) \
    NUMBERED(void, symbol, __LINE__) {}
#define REFUSED(symbol) \
    NUMBERED(void, symbol, __LINE__) { refuse(symbol); }

namespace {

[[noreturn]] void refuse(const char *symbol) {
    const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(symbol, nullptr, nullptr, nullptr),
                                                           &std::free);
    throw std::runtime_error(std::string(name ? name.get() : symbol) +
                             ": the simulator has no graph engine, so MindSpore cannot build graphs for it");
}

}  // namespace

// ge::StatusFactory::Instance: the factory is a map, in which header code stores texts of error codes. It is never
// destroyed, because the program owns what is in it.
NUMBERED(void *, "_ZN2ge13StatusFactory8InstanceEv", __LINE__) {
    static auto *const texts = new std::map<std::uint32_t, void *>;
    return texts;
}

// Constructors of static objects, one for each kind of operator.
REGISTERED("_ZN2ge22InferShapeFuncRegisterC1ERKSsRKSt8functionIFjRNS_8OperatorEEE")
REGISTERED("_ZN2ge23OperatorCreatorRegisterC1EPKcRKSt8functionIFNS_8OperatorERKNS_12AscendStringEEE")
REGISTERED("_ZN2ge23OperatorCreatorRegisterC1ERKSsRKSt8functionIFNS_8OperatorES2_EE")

REFUSED("_ZN2ge10TensorDesc11SetDataTypeENS_8DataTypeE")
REFUSED("_ZN2ge10TensorDesc13SetRealDimCntEl")
REFUSED("_ZN2ge10TensorDesc14SetOriginShapeERKNS_5ShapeE")
REFUSED("_ZN2ge10TensorDesc15SetOriginFormatENS_6FormatE")
REFUSED("_ZN2ge10TensorDesc8SetShapeERKNS_5ShapeE")
REFUSED("_ZN2ge10TensorDesc9SetFormatENS_6FormatE")
REFUSED("_ZN2ge10TensorDescC1ENS_5ShapeENS_6FormatENS_8DataTypeE")
REFUSED("_ZN2ge10TensorDescC1EOS0_")
REFUSED("_ZN2ge10TensorDescC1ERKS0_")
REFUSED("_ZN2ge10TensorDescC1Ev")
REFUSED("_ZN2ge12AscendStringC1EPKc")
REFUSED("_ZN2ge12GEInitializeERKSt3mapISsSsSt4lessISsESaISt4pairIKSsSsEEE")
REFUSED("_ZN2ge15OperatorFactory14CreateOperatorEPKcS2_")
REFUSED("_ZN2ge15OperatorFactory14CreateOperatorERKSsS2_")
REFUSED("_ZN2ge15OperatorFactory9IsExistOpEPKc")
REFUSED("_ZN2ge15OperatorFactory9IsExistOpERKSs")
REFUSED("_ZN2ge5Shape6SetDimEml")
REFUSED("_ZN2ge5ShapeC1ERKSt6vectorIlSaIlEE")
REFUSED("_ZN2ge5ShapeC1Ev")
REFUSED("_ZN2ge6Tensor7GetDataEv")
REFUSED("_ZN2ge6Tensor7SetDataEPKhm")
REFUSED("_ZN2ge6Tensor7SetDataEPhmRKSt8functionIFvS1_EE")
REFUSED("_ZN2ge6Tensor7SetDataERKSs")
REFUSED("_ZN2ge6Tensor7SetDataERKSt6vectorISsSaISsEE")
REFUSED("_ZN2ge6TensorC1ERKNS_10TensorDescE")
REFUSED("_ZN2ge6TensorC1ERKNS_10TensorDescEPKhm")
REFUSED("_ZN2ge6TensorC1Ev")
REFUSED("_ZN2ge8Operator12AttrRegisterEPKcRKNS_12AscendStringE")
REFUSED("_ZN2ge8Operator12AttrRegisterEPKcRKNS_8DataTypeE")
REFUSED("_ZN2ge8Operator12AttrRegisterEPKcRKSt6vectorINS_12AscendStringESaIS4_EE")
REFUSED("_ZN2ge8Operator12AttrRegisterEPKcRKSt6vectorIfSaIfEE")
REFUSED("_ZN2ge8Operator12AttrRegisterEPKcRKSt6vectorIlSaIlEE")
REFUSED("_ZN2ge8Operator12AttrRegisterEPKcb")
REFUSED("_ZN2ge8Operator12AttrRegisterEPKcf")
REFUSED("_ZN2ge8Operator12AttrRegisterEPKcl")
REFUSED("_ZN2ge8Operator13InputRegisterEPKcS2_")
REFUSED("_ZN2ge8Operator13InputRegisterERKSs")
REFUSED("_ZN2ge8Operator14OutputRegisterEPKcS2_")
REFUSED("_ZN2ge8Operator14OutputRegisterERKSs")
REFUSED("_ZN2ge8Operator15UpdateInputDescEPKcRKNS_10TensorDescE")
REFUSED("_ZN2ge8Operator15UpdateInputDescERKSsRKNS_10TensorDescE")
REFUSED("_ZN2ge8Operator16UpdateOutputDescEPKcRKNS_10TensorDescE")
REFUSED("_ZN2ge8Operator16UpdateOutputDescERKSsRKNS_10TensorDescE")
REFUSED("_ZN2ge8Operator17InferFuncRegisterERKSt8functionIFjRS0_EE")
REFUSED("_ZN2ge8Operator18SetSubgraphBuilderEPKcjRKSt8functionIFNS_5GraphEvEE")
REFUSED("_ZN2ge8Operator20DynamicInputRegisterEPKcjS2_b")
REFUSED("_ZN2ge8Operator20RequiredAttrRegisterERKSs")
REFUSED("_ZN2ge8Operator21DynamicOutputRegisterEPKcjS2_b")
REFUSED("_ZN2ge8Operator21OptionalInputRegisterEPKcS2_")
REFUSED("_ZN2ge8Operator21OptionalInputRegisterERKSs")
REFUSED("_ZN2ge8Operator21SubgraphCountRegisterEPKcj")
REFUSED("_ZN2ge8Operator23UpdateDynamicOutputDescEPKcjRKNS_10TensorDescE")
REFUSED("_ZN2ge8Operator27DynamicInputRegisterByIndexEPKcjm")
REFUSED("_ZN2ge8Operator28RequiredAttrWithTypeRegisterEPKcS2_")
REFUSED("_ZN2ge8Operator7SetAttrEPKcRKNS_6TensorE")
REFUSED("_ZN2ge8Operator7SetAttrEPKcRKNS_8DataTypeE")
REFUSED("_ZN2ge8Operator7SetAttrEPKcRKSt6vectorINS_8DataTypeESaIS4_EE")
REFUSED("_ZN2ge8Operator7SetAttrEPKcRKSt6vectorIS3_IlSaIlEESaIS5_EE")
REFUSED("_ZN2ge8Operator7SetAttrEPKcRKSt6vectorIfSaIfEE")
REFUSED("_ZN2ge8Operator7SetAttrEPKcRKSt6vectorIiSaIiEE")
REFUSED("_ZN2ge8Operator7SetAttrEPKcRKSt6vectorIlSaIlEE")
REFUSED("_ZN2ge8Operator7SetAttrEPKcb")
REFUSED("_ZN2ge8Operator7SetAttrEPKcf")
REFUSED("_ZN2ge8Operator7SetAttrEPKci")
REFUSED("_ZN2ge8Operator7SetAttrEPKcl")
REFUSED("_ZN2ge8Operator7SetAttrERKSsRKSt6vectorISsSaISsEE")
REFUSED("_ZN2ge8Operator7SetAttrERKSsRKSt6vectorIbSaIbEE")
REFUSED("_ZN2ge8Operator7SetAttrERKSsRKSt6vectorIfSaIfEE")
REFUSED("_ZN2ge8Operator7SetAttrERKSsRKSt6vectorIiSaIiEE")
REFUSED("_ZN2ge8Operator7SetAttrERKSsRKSt6vectorIlSaIlEE")
REFUSED("_ZN2ge8Operator7SetAttrERKSsS2_")
REFUSED("_ZN2ge8Operator7SetAttrERKSsb")
REFUSED("_ZN2ge8Operator7SetAttrERKSsf")
REFUSED("_ZN2ge8Operator7SetAttrERKSsi")
REFUSED("_ZN2ge8Operator7SetAttrERKSsl")
REFUSED("_ZN2ge8Operator8SetInputEPKcRKS0_")
REFUSED("_ZN2ge8Operator8SetInputEPKcjRKS0_")
REFUSED("_ZN2ge8Operator8SetInputEPKcjRKS0_S2_")
REFUSED("_ZN2ge8Operator8SetInputERKSsRKS0_")
REFUSED("_ZN2ge8Operator8SetInputERKSsRKS0_S2_")
REFUSED("_ZN2ge8OperatorC1ERKSs")
REFUSED("_ZN2ge8OperatorC1ERKSsS2_")
REFUSED("_ZN2ge8OperatorC2ERKNS_12AscendStringES3_")
REFUSED("_ZN2ge8OperatorC2ERKSsS2_")
REFUSED("_ZNK2ge10TensorDesc11GetDataTypeEv")
REFUSED("_ZNK2ge10TensorDesc8GetShapeEv")
REFUSED("_ZNK2ge10TensorDesc9GetFormatEv")
REFUSED("_ZNK2ge12AscendString9GetStringEv")
REFUSED("_ZNK2ge5Shape6GetDimEm")
REFUSED("_ZNK2ge5Shape7GetDimsEv")
REFUSED("_ZNK2ge5Shape9GetDimNumEv")
REFUSED("_ZNK2ge6Tensor13GetTensorDescEv")
REFUSED("_ZNK2ge6Tensor7GetSizeEv")
REFUSED("_ZNK2ge8Operator19GetDynamicOutputNumERKSs")
REFUSED("_ZNK2ge8Operator7GetAttrEPKcRNS_6TensorE")
REFUSED("_ZNK2ge8Operator7GetAttrEPKcRNS_8DataTypeE")
REFUSED("_ZNK2ge8Operator7GetAttrEPKcRSt6vectorINS_8DataTypeESaIS4_EE")
REFUSED("_ZNK2ge8Operator7GetAttrEPKcRSt6vectorIS3_IlSaIlEESaIS5_EE")
REFUSED("_ZNK2ge8Operator7GetAttrEPKcRSt6vectorIfSaIfEE")
REFUSED("_ZNK2ge8Operator7GetAttrEPKcRSt6vectorIiSaIiEE")
REFUSED("_ZNK2ge8Operator7GetAttrEPKcRSt6vectorIlSaIlEE")
REFUSED("_ZNK2ge8Operator7GetAttrEPKcRb")
REFUSED("_ZNK2ge8Operator7GetAttrEPKcRf")
REFUSED("_ZNK2ge8Operator7GetAttrEPKcRi")
REFUSED("_ZNK2ge8Operator7GetAttrEPKcRl")
REFUSED("_ZNK2ge8Operator7GetAttrERKSsRSs")
REFUSED("_ZNK2ge8Operator7GetAttrERKSsRSt6vectorISsSaISsEE")
REFUSED("_ZNK2ge8Operator7GetNameERNS_12AscendStringE")
REFUSED("_ZNK2ge8Operator7GetNameEv")
REFUSED("_ZNK2ge8Operator9GetOpTypeERNS_12AscendStringE")
REFUSED("_ZNK2ge8Operator9GetOpTypeEv")
